import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { createFolder } from '../../../../support/migrations.ts'
import { testUnless } from '../../../../support/unless.ts'

const script = fileURLToPath(new URL('./watching-process.ts', import.meta.url))

/** The arguments of `unshare` for a process in a user namespace, which has limits of its own, with this one set. */
const limited = (limit: string, count: number, ...command: string[]): string[] => [
  ...['--user', '--map-root-user', 'sh', '-c'],
  `echo ${count} > /proc/sys/user/${limit}; exec "$@"`,
  'sh',
  ...command,
]

function whyNoNamespace(): string | undefined {
  try {
    execFileSync('unshare', limited('max_inotify_watches', 1, 'true'), { stdio: 'pipe' })
    return undefined
  } catch {
    return 'no user namespace with a limit of its own can be made here'
  }
}

/** What a process prints that watches a folder under a limit of the system. */
async function linesOf(
  root: string,
  limit: string,
  count: number,
  onWatching?: () => void,
): Promise<string[]> {
  const command = limited(limit, count, process.execPath, script, root)
  const child = spawn('unshare', command, { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines: string[] = []
  for await (const line of createInterface(child.stdout)) {
    lines.push(line)
    if (line === 'watching') onWatching?.()
  }
  return lines
}

testUnless(
  whyNoNamespace(),
  'the limits of the system are told as such, with what to raise, at the beginning and later',
  async () => {
    using folder = createFolder('source')
    mkdirSync(join(folder.source, 'a/b/c'), { recursive: true })
    const [watches, instances, later] = await Promise.all([
      linesOf(folder.source, 'max_inotify_watches', 3),
      linesOf(folder.source, 'max_inotify_instances', 0),
      linesOf(folder.source, 'max_inotify_watches', 4, () => mkdirSync(join(folder.source, 'new'))),
    ])
    const fix = /; raise fs\.inotify\.max_user_watches and max_user_instances$/
    const end = { isLimit: true, message: expect.stringMatching(fix) }
    expect(watches.map((line) => JSON.parse(line))).toEqual([end])
    expect(instances.map((line) => JSON.parse(line))).toEqual([end])
    expect(later[0]).toBe('watching')
    expect(later.slice(1).map((line) => JSON.parse(line))).toEqual([end])
  },
)
