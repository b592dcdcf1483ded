import { chmodSync, closeSync, constants, fstatSync, lstatSync, openSync, type Stats } from 'node:fs'
import { shellArgument } from '../../../subjects/kit/shell-word.ts'
import { StoreError, type StorePath } from '../contract/driver.ts'
import { isErrno, localError } from './errors.ts'
import { contains, pathOnly, realPath, throughDescriptor, type LocalRoot } from './root.ts'
import { joinPath, textFromPath, nameOf, parentOf } from '../paths/path-text.ts'

/**
 * A process without root privileges may be denied access by the mode of a folder or file that it owns: the mode in a target
 * is the source's, which was not made for us. The owner may change a mode, so we grant ourselves the owner's rights while we
 * work, as rsync does, and put the mode back.
 *
 * Nothing is asked beforehand: a call that the system denies (EACCES; EPERM is returned where no mode would help) has had no
 * effect, so it is made again with the rights. Rights to folders are kept for what follows in the same folder, until the
 * thread works on another one, ends its job, or has its next turn: hundreds of files cost one change of modes. Those to a
 * file are put back as soon as it is open.
 *
 * Others who work in the same folder (threads, agents) grant themselves access too. Only the one that found a mode that
 * denies puts it back, and only if the mode is still the one it set, so that nobody mistakes another's rights for the
 * folder's own mode. When a mode is put back while somebody else works there, that one changes it once more.
 *
 * A killed process leaves a mode with the owner's rights, and with nothing else changed. What comes next gives the source's
 * again: `finishFolders` at the end of a scan, a comparison of a live migration (which follows each start) and of a match
 * for each folder that they were in, `matchAfterKill` for items that are handed out once more. The root of the target and
 * folders that are not at the source (on the way to where a mapping leads, the trash) have nothing to be compared with:
 * they keep the rights.
 *
 * All of this is synchronous, so that one variable says what the thread works for.
 */
interface Scope {
  readonly root: LocalRoot
  /** Those that names are looked up, made or removed in. */
  readonly folders: readonly StorePath[]
}

interface TemporaryAccess {
  /** Of the folder or file itself, whatever name it has by then. */
  readonly fd: number
  readonly before: number
  readonly granted: number
}

/** The owner's rights: to list, change and search a folder, to read and write a file. */
const folderRights = 0o700
const fileRights = 0o600
const modeBits = 0o7777
const setGroupId = 0o2000

const isLinux = process.platform === 'linux'

/** Others may put a mode back again and again; after so many times it is a failure, which is tried again later. */
const maxRounds = 8

let scope: Scope | undefined
let granted: TemporaryAccess[] = []
let grantedFor: Scope | undefined
let nextTurn: NodeJS.Immediate | undefined

/** Does synchronous work in folders; what it calls with `permitted` is given rights, if the root is one that may grant. */
export function withTemporaryAccess<T>(root: LocalRoot, folders: readonly StorePath[], work: () => T): T {
  if (!root.mayGrantAccess) return work()
  const own = { root, folders }
  if (grantedFor !== undefined && !isSame(grantedFor, own)) restoreModes()
  const outer = scope
  scope = own
  try {
    return work()
  } finally {
    scope = outer
  }
}

const isSame = (a: Scope, b: Scope): boolean =>
  a.root.folder.equals(b.root.folder) &&
  a.folders.length === b.folders.length &&
  a.folders.every((folder, index) => b.folders[index]?.equals(folder) === true)

/**
 * The result of system calls that may be denied, and may be repeated then. Throws what they throw; StoreErrors that name
 * the folder or file of somebody else that is in the way.
 * @param self absolute path of what is opened itself, so that its own mode counts too
 */
export function permitted<T>(call: () => T, self?: Buffer | (() => Buffer)): T {
  try {
    return call()
  } catch (error) {
    if (scope === undefined || !isErrno(error, 'EACCES')) throw error
    return permittedWithAccess(scope, call, typeof self === 'function' ? Buffer.from(self()) : self)
  }
}

function permittedWithAccess<T>(own: Scope, call: () => T, self: Buffer | undefined): T {
  for (let round = 1; ; round++) {
    const isGranted = grantFolders(own)
    const access = self === undefined ? undefined : grantTo(self)
    try {
      return call()
    } catch (error) {
      if (!isErrno(error, 'EACCES')) throw error
      // Once more without changing a mode: somebody else may have changed one while we looked.
      const isHopeless = !isGranted && access === undefined && round > 1
      if (isHopeless || round === maxRounds) throw explained(error, own, self)
    } finally {
      if (access !== undefined) end(access)
    }
  }
}

/**
 * Work on what is open, which the mode may deny all the same, as it does with extended attributes.
 * @param isDenied whether a result may be that of missing rights
 */
export function permittedOn<T>(fd: number, work: () => T, isDenied: (result: T) => boolean): T {
  const result = work()
  if (scope === undefined || !isDenied(result)) return result
  const access = grant(fd)
  if (access === undefined) return result
  try {
    return work()
  } finally {
    putBack(access)
  }
}

/** Puts back the modes of all folders; whoever is told that work is done must find them as they were. */
export function restoreModes(): void {
  const all = granted
  granted = []
  grantedFor = undefined
  clearImmediate(nextTurn)
  for (const access of all) end(access)
}

/** Whether a folder on the way was granted something. */
function grantFolders(own: Scope): boolean {
  const before = granted.length
  for (const folder of own.folders) {
    for (const path of wayTo(own.root, folder)) {
      const access = grantTo(path)
      if (access !== undefined) granted.push(access)
    }
  }
  if (granted.length === before) return false
  grantedFor = own
  clearImmediate(nextTurn)
  nextTurn = setImmediate(restoreModes)
  return true
}

/** The folders from the root to one in it, each without links in it; it ends where one leads out, or is not to be reached. */
function* wayTo(root: LocalRoot, folder: StorePath): Generator<Buffer> {
  try {
    const top = realPath(root.folder)
    yield top
    if (folder.length === 0) return
    let at = top
    for (const segment of folder.toString('latin1').split('/')) {
      at = realPath(Buffer.concat([at, Buffer.from(`/${segment}`, 'latin1')]))
      if (!contains(top, at)) return
      yield at
    }
  } catch {
    // The call itself fails for the same reason, and tells it.
  }
}

function grantTo(path: Buffer): TemporaryAccess | undefined {
  if (!isLinux) return undefined
  let fd: number
  try {
    fd = openSync(path, pathOnly | constants.O_NOFOLLOW)
  } catch {
    return undefined
  }
  const access = grant(fd)
  if (access === undefined) closeSync(fd)
  return access
}

/** Undefined for what is not ours, and what has the rights. */
function grant(fd: number): TemporaryAccess | undefined {
  try {
    const stat = fstatSync(fd)
    const before = stat.mode & modeBits
    const granted = before | (stat.isDirectory() ? folderRights : stat.isFile() ? fileRights : 0)
    if (granted === before || !isOurs(stat)) return undefined
    // What was opened without being read takes no `fchmod`.
    chmodSync(throughDescriptor(fd), granted)
    return { fd, before, granted }
  } catch {
    return undefined
  }
}

/** A set-group-id bit of a group that we are not in would be taken away for good. */
const isOurs = ({ uid, gid, mode }: Stats): boolean =>
  uid === process.geteuid?.() && ((mode & setGroupId) === 0 || process.getgroups?.().includes(gid) === true)

function putBack({ fd, before, granted }: TemporaryAccess): void {
  try {
    if ((fstatSync(fd).mode & modeBits) === granted) chmodSync(throughDescriptor(fd), before)
  } catch {
    // As after a kill: what comes next gives the source's mode.
  }
}

function end(access: TemporaryAccess): void {
  putBack(access)
  closeSync(access.fd)
}

/** The error with what is in the way, where that is known. */
function explained(error: unknown, { root, folders }: Scope, self: Buffer | undefined): unknown {
  const known = localError(error)
  const last = folders.map((folder) => [...wayTo(root, folder)].at(-1))
  const [foreign] = [self, ...last].flatMap((path) => (path === undefined ? [] : (foreignAt(path) ?? [])))
  if (foreign === undefined || !(known instanceof StoreError)) return known
  const { path, uid } = foreign
  const text = textFromPath(path)
  const user = process.geteuid?.()
  const why = `${text} belongs to user ${uid}, and Gantry works as user ${user}`
  const fix = `change its owner with "chown ${user} ${shellArgument(text)}", or choose another folder`
  return new StoreError(known.failure, `${known.message}: ${why}: ${fix}`, { cause: error })
}

/** Whose it is, and its absolute path without the slash that it begins with. */
function foreignAt(path: Buffer): { readonly path: StorePath; readonly uid: number } | undefined {
  try {
    const { uid } = lstatSync(path)
    // What was reached through a descriptor has a name that says something to people.
    const parent = path.lastIndexOf('/') === 0 ? Buffer.from('/') : parentOf(path)
    const named = joinPath(realPath(parent).subarray(1), nameOf(path))
    return uid === process.geteuid?.() ? undefined : { path: named, uid }
  } catch {
    return undefined
  }
}
