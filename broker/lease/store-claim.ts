import {
  existsSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { check } from '../../subjects/kit/validate.ts'
import { readTextFile } from '../common/files.ts'
import { Holder, inWords, isSame, requireEnded, setActive, thisHolder } from './holder.ts'
import { renewShare } from './lease.ts'
import type { Log } from '../common/log.ts'
import { every, type Task } from '../tasks/tasks.ts'

const fileName = 'gantry.lock'

interface ClaimOptions {
  readonly leaseMs: number
  /** Another process has the store: this one must end at once. */
  readonly onLost?: (reason: string) => void
  readonly log: Log
}

/**
 * A file in the folder of the store that says which process uses it, so that no second nats-server is started there: it
 * would take the files of the first one apart. Whoever has it also takes the lease in the store.
 */
export class StoreClaim {
  readonly holder: Holder
  /** The one before, which has ended. */
  readonly ended: Holder | undefined
  readonly #path: string
  /** What is in the file while it is ours. */
  readonly #text: string
  readonly #task: Task
  readonly #onLost: ClaimOptions['onLost']

  private constructor(
    path: string,
    holder: Holder,
    ended: Holder | undefined,
    { leaseMs, onLost }: ClaimOptions,
  ) {
    this.#path = path
    this.#text = textOf(holder)
    this.#onLost = onLost
    this.holder = holder
    this.ended = ended
    setActive(holder, true)
    this.#task = every('platform.store-claim', () => this.#renew(), leaseMs * renewShare)
  }

  /** @throws ConfigError that names the process that uses the store */
  static async make(storeDir: string, options: ClaimOptions): Promise<StoreClaim> {
    mkdirSync(storeDir, { recursive: true, mode: 0o700 })
    const path = join(storeDir, fileName)
    const holder = { ...thisHolder(), leaseMs: options.leaseMs }
    for (;;) {
      if (create(path, holder)) return new StoreClaim(path, holder, undefined, options)
      const ended = holderIn(path)
      if (ended !== undefined) await requireEnded(ended, async () => versionOf(path), options)
      if (await takeOver(path, ended, holder, options)) return new StoreClaim(path, holder, ended, options)
    }
  }

  /** Only while it is ours: another may have taken it while this process was paused. */
  #renew(): void {
    const { holder } = this
    if (textIn(this.#path) === this.#text) return touch(this.#path)
    let there = holderIn(this.#path)
    // Nobody has it, and of several that see this only one can make it.
    if (there === undefined && !existsSync(this.#path))
      there = create(this.#path, holder) ? holder : holderIn(this.#path)
    if (isSame(there, holder)) return touch(this.#path)
    // What cannot be read says nothing about who has it.
    if (there === undefined) return
    this.#task.stop()
    this.#onLost?.(`the store is claimed by ${inWords(there)}`)
  }

  release(): void {
    this.#task.stop()
    setActive(this.holder, false)
    if (isSame(holderIn(this.#path), this.holder)) rmSync(this.#path, { force: true })
  }
}

/**
 * Puts a claim in the place of one that has ended; false when that is gone, and is to be looked at again. Of several that
 * find the same one ended, only one can make the file that is then renamed, as its name follows from that one.
 * @throws ConfigError that names the process that is taking it over
 */
async function takeOver(path: string, ended: Holder | undefined, holder: Holder, options: ClaimOptions) {
  const next = `${path}.${ended?.id ?? 'unreadable'}`
  if (!create(next, holder)) {
    const other = holderIn(next)
    if (other !== undefined) await requireEnded(other, async () => versionOf(next), options)
    rmSync(next, { force: true })
    return false
  }
  // Whoever has found that one ended may come here late.
  if (!existsSync(path) || holderIn(path)?.id !== ended?.id) {
    rmSync(next, { force: true })
    return false
  }
  renameSync(next, path)
  return isSame(holderIn(path), holder)
}

/** False when there is one. It is there with all its content or not at all: a part of it would be taken for a claim cut off. */
function create(path: string, holder: Holder): boolean {
  const own = `${path}.${holder.id}`
  const make = (at: string) => writeFileSync(at, textOf(holder), { flag: 'wx', mode: 0o600 })
  make(own)
  try {
    linkSync(own, path)
    return true
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false
  } finally {
    rmSync(own)
  }
  // A file system without hard links.
  try {
    make(path)
    return true
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false
    throw error
  }
}

const isErrno = (error: unknown, code: string): boolean => (error as NodeJS.ErrnoException).code === code

const textOf = (holder: Holder): string => JSON.stringify(holder)

/** Empty for a file that is not there, or cannot be read. */
function textIn(path: string): string {
  try {
    return readTextFile(path) ?? ''
  } catch {
    return ''
  }
}

/** Undefined for a file that is not there, or was cut off when the machine went down. */
function holderIn(path: string): Holder | undefined {
  try {
    return check(Holder, JSON.parse(textIn(path)), path)
  } catch {
    return undefined
  }
}

const versionOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.mtimeMs

function touch(path: string): void {
  const now = new Date()
  utimesSync(path, now, now)
}
