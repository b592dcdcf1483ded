import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'

/** `0A` is LISTEN in the kernel's tables of sockets. */
const listening = '0A'
const tables = ['/proc/net/tcp', '/proc/net/tcp6']

/**
 * Who listens on a port of this host: `node (process 1234)`, or the user where the process may not be looked at. Undefined
 * where nobody is found, and on systems without `/proc`.
 */
export function portHolder(port: number): string | undefined {
  const socket = tables.flatMap(socketsIn).find((one) => one.port === port)
  if (socket === undefined) return undefined
  const pid = processWith(`socket:[${socket.inode}]`)
  return pid === undefined ? `a process of user id ${socket.uid}` : `${nameOf(pid)} (process ${pid})`
}

interface Listener {
  readonly port: number
  readonly uid: string
  readonly inode: string
}

function socketsIn(table: string): Listener[] {
  const lines = textOf(table).split('\n').slice(1)
  return lines.flatMap((line) => {
    const { 1: local = '', 3: state, 7: uid = '', 9: inode = '' } = line.trim().split(/\s+/)
    if (state !== listening) return []
    return [{ port: Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16), uid, inode }]
  })
}

/** Of the processes that may be looked at. */
function processWith(descriptor: string): string | undefined {
  return namesIn('/proc')
    .filter((name) => /^\d+$/.test(name))
    .find((pid) => namesIn(`/proc/${pid}/fd`).some((fd) => targetOf(`/proc/${pid}/fd/${fd}`) === descriptor))
}

/** Of its file: a program may call its main thread something else. */
const nameOf = (pid: string): string =>
  basename(targetOf(`/proc/${pid}/exe`)).replace(/ \(deleted\)$/, '') ||
  textOf(`/proc/${pid}/comm`).trim() ||
  'a program'

// A process may end at any moment, and those of others are closed.
const orElse = <T>(read: () => T, otherwise: T): T => {
  try {
    return read()
  } catch {
    return otherwise
  }
}
const textOf = (path: string): string => orElse(() => readFileSync(path, 'utf8'), '')
const namesIn = (folder: string): string[] => orElse(() => readdirSync(folder), [])
const targetOf = (path: string): string => orElse(() => readlinkSync(path), '')
