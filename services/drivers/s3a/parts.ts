import type { Upload } from '../contract/driver.ts'
import { failed } from './errors.ts'
import type { ListedPart } from './xml.ts'

/**
 * The parts that an object is made of. Throws `corrupt` when one is missing, or all have not the size of the file.
 * @param count of them
 */
export function checkedParts(
  { sizeBytes }: Upload,
  count: number,
  parts: readonly ListedPart[],
  what: () => string,
): ListedPart[] {
  const content = parts.filter(({ number }) => number <= count)
  const missing = Array.from({ length: count }, (_, index) => index).find(
    (index) => content[index]?.number !== index + 1,
  )
  if (missing !== undefined)
    throw failed('corrupt', what(), `part ${missing} is not there; begin the upload again`)
  const bytes = content.reduce((sum, part) => sum + part.sizeBytes, 0)
  if (bytes !== sizeBytes) throw failed('corrupt', what(), `the parts have ${bytes} bytes, not ${sizeBytes}`)
  return content
}
