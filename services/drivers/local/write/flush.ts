import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:fs'
import { type FileHandle, open, realpath } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { StoreError } from '../../contract/driver.ts'
import { isErrno } from '../errors.ts'
import { mountsBelow, mountTable, parseMounts, placeOf } from '../mounts.ts'
import { SyncProcess, type SyncResult } from './sync-process.ts'

/** The first descriptor of a child process after its standard streams. */
const firstFd = 3

/** The exit status of a shell for a program that is not there. */
const notFound = 127

/**
 * Has the system write all that is not yet on disk of the file systems that folders are in, and of those mounted below them. Node has no `syncfs`: the
 * program `sync` calls it in a process of its own, which may take minutes and blocks nothing here. Throws system errors,
 * `io` when the disk does not take something, the signal's reason when aborted.
 */
export async function flushFileSystems(folders: readonly Buffer[], signal: AbortSignal): Promise<void> {
  const handles: FileHandle[] = []
  try {
    for (const folder of folders) {
      handles.push(await openFolder(folder))
      // What cannot be opened, such as a mount of another user, nothing was written to either.
      const real = await realpath(folder, { encoding: 'buffer' })
      for (const below of mountsBelow(parseMounts(mountTable()), real).map(placeOf))
        handles.push(...(await openFolder(below).then(Array.of<FileHandle>, () => [])))
    }
    await syncAll(await oneOfEach(handles), signal)
  } finally {
    for (const handle of handles) await handle.close()
  }
}

const openFolder = (folder: Buffer): Promise<FileHandle> =>
  open(folder, constants.O_RDONLY | constants.O_DIRECTORY)

/** One handle of each file system. */
async function oneOfEach(handles: readonly FileHandle[]): Promise<FileHandle[]> {
  const byDevice = new Map<number, FileHandle>()
  for (const handle of handles) byDevice.set((await handle.stat()).dev, handle)
  return [...byDevice.values()]
}

/** One for all migrations of the process; it is started when something is flushed for the first time. */
let shell: SyncProcess | undefined

async function syncAll(handles: readonly FileHandle[], signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (process.platform === 'linux' && (shell === undefined || shell.isOver)) shell = new SyncProcess()
  const fds = handles.map(({ fd }) => fd)
  const { code, said } = (await shell?.flush(fds, signal)) ?? (await runSync(fds, signal))
  if (code === 0) return
  if (code !== notFound)
    throw new StoreError('io', `what was written cannot be flushed to disk: ${said} (${code})`)
  // A host without that program: the journals of the usual file systems take their files' content along.
  for (const handle of handles) await handle.sync()
}

/** By a process of this one's own. */
async function runSync(fds: readonly number[], signal: AbortSignal): Promise<SyncResult> {
  // Descriptors and no names: those may have any bytes, and another folder may have taken them.
  const paths = fds.map((_, index) => `/dev/fd/${firstFd + index}`)
  // Elsewhere it knows no file systems, and writes everything.
  const flags = process.platform === 'linux' ? ['-f', ...paths] : []
  const child = spawn('sync', flags, { stdio: ['ignore', 'ignore', 'pipe', ...fds] })
  const { stderr } = child
  if (stderr === null) throw new Error('the program has no output')
  try {
    const said = text(stderr)
    const [code, killedBy] = (await once(child, 'close', { signal })) as [number | null, string | null]
    return { code: code ?? -1, said: code === null ? `ended by ${killedBy}` : await said }
  } catch (error) {
    child.kill()
    signal.throwIfAborted()
    if (!isErrno(error, 'ENOENT')) throw error
    return { code: notFound, said: '' }
  }
}
