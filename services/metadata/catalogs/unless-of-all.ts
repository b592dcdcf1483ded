import { StoreError } from '../../drivers/contract/store-error.ts'
import { isOfAll } from './contract/catalog.ts'

/** The failure of one object. Throws what concerns the whole catalog. */
export function unlessOfAll(error: unknown): StoreError {
  if (error instanceof StoreError && !isOfAll(error)) return error
  throw error
}
