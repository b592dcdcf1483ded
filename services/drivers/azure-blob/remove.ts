import type { Container, What } from './container.ts'
import { failed } from './errors.ts'

/** Removes a file, or a folder that is empty; false when nothing is there. Throws as `Driver.remove` does. */
export async function removeBlob(container: Container, blob: string, what: What): Promise<boolean> {
  const there = await container.properties(blob, what)
  if (there?.isFolder === false) return container.deleteBlob(blob, there.etag, what)
  // An empty folder is a marker, the other way to mark one, or both: nothing else is left of it.
  const folding = container.foldingOf(`${blob}/`)
  for await (const page of container.pages({ prefix: `${blob}/`, maxResults: 2 }, what))
    if (folding.entries(page).length > 0) throw failed('unsupported', what(), 'the folder is not empty')
  const other = folding.found ? await container.properties(`${blob}/`, what) : undefined
  if (other !== undefined) await container.deleteBlob(`${blob}/`, other.etag, what)
  if (there !== undefined) await container.deleteBlob(blob, there.etag, what)
  return there !== undefined || other !== undefined
}
