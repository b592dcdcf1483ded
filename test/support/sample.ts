import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { pattern } from '../conformance/driver-store.ts'

/** The one of them whose name Google Cloud Storage does not take. */
export const lineFeedName = 'new\nline'

const awkward = [
  'with space',
  'ünïcödé',
  '100%+#&?=,;',
  'q\'"<>`',
  lineFeedName,
  '🙂',
  '(1)*!~',
  'a&amp;b',
  '%2F',
]

/** Files of a sample. */
export const sampleFiles = 3 + awkward.length

/** Puts a few files of all sorts and folders into a folder. @param largeBytes size of the largest */
export function createSample(root: string, largeBytes: number): void {
  for (const path of ['folder/below', 'hollow']) mkdirSync(join(root, path), { recursive: true })
  writeFileSync(join(root, 'file'), 'at the top', { mode: 0o640 })
  writeFileSync(join(root, 'empty'), '')
  writeFileSync(join(root, 'folder/below/large'), pattern(largeBytes))
  for (const one of awkward) writeFileSync(join(root, 'folder', one), one)
}

/** Changes a sample: contents, and what is a file and what a folder. */
export function changeSample(root: string): void {
  rmSync(join(root, 'folder/below'), { recursive: true })
  writeFileSync(join(root, 'file'), 'has changed')
  writeFileSync(join(root, 'folder/new'), 'is new')
  rmSync(join(root, 'empty'))
  mkdirSync(join(root, 'empty'))
  writeFileSync(join(root, 'empty/inside'), 'x')
  rmSync(join(root, 'hollow'), { recursive: true })
  writeFileSync(join(root, 'hollow'), 'now a file')
}

/** Whether all that `changeSample` does has arrived in a copy. */
export function isSampleChanged(root: string): boolean {
  const readOrFolder = (path: string) => {
    try {
      const at = join(root, path)
      return existsSync(at) ? readFileSync(at, 'utf8') : undefined
    } catch {
      return 'a folder'
    }
  }
  const paths = ['file', 'folder/new', 'empty/inside', 'hollow', 'folder/below']
  return isDeepStrictEqual(paths.map(readOrFolder), ['has changed', 'is new', 'x', 'now a file', undefined])
}
