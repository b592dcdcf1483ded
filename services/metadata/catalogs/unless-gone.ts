import { StoreError } from '../../drivers/contract/store-error.ts'

/** What was asked for; undefined where it is gone. */
export async function unlessGone<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof StoreError && error.failure === 'gone') return undefined
    throw error
  }
}
