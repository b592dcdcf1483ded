import { pathFromText, textFromPath } from '../../services/drivers/paths/path-text.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { walkTree } from './compare-trees.ts'
import type { TestPlatform } from './platform.ts'

/** Longest page of the capability. */
const limit = 1_000

/** All paths below a folder as `filesystems.list-paths` tells them, folders with a slash at their end, sorted. */
export async function listedPaths(
  platform: TestPlatform,
  fileSystemId: string,
  path = '/',
): Promise<string[]> {
  const found: string[] = []
  let after: string | undefined
  for (;;) {
    const page = await platform.call(filesystems['list-paths'], {
      fileSystemId,
      path,
      limit,
      ...(after === undefined ? {} : { after }),
    })
    for (const entry of page) {
      found.push(entry.isDirectory ? `${entry.path}/` : entry.path)
      if (entry.isDirectory) found.push(...(await listedPaths(platform, fileSystemId, entry.path)))
    }
    after = page.at(-1)?.path
    if (page.length < limit) return path === '/' ? found.toSorted() : found
  }
}

/** What `listedPaths` is expected to tell of a copy of this tree. */
export function pathsOf(root: string, isLost: (path: Buffer) => boolean = () => false): string[] {
  return [...walkTree(root)]
    .filter(({ path }) => !isLost(path))
    .map(({ path, stat }) => `${textFromPath(path)}${stat.isDirectory() ? '/' : ''}`)
    .toSorted()
}

/** Whether a path, or a folder that it is in, is one of these. */
export function isOneOf(paths: readonly string[]): (path: Buffer) => boolean {
  const known = new Set(paths.map((path) => pathFromText(path).toString('latin1')))
  return (path) => {
    for (
      let text = path.toString('latin1');
      text !== '';
      text = text.slice(0, Math.max(0, text.lastIndexOf('/')))
    ) {
      if (known.has(text)) return true
    }
    return false
  }
}
