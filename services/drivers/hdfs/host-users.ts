import { readFileSync } from 'node:fs'

/** How long what was read holds: who is added to a host shall be known without a restart. */
const validMs = 60_000

interface Names {
  readonly numbers: ReadonlyMap<string, number>
  readonly names: ReadonlyMap<number, string>
}

/**
 * Users and groups of this host by name and number: HDFS knows names alone, folders of hosts numbers alone. Who is not in the
 * host's own files (`/etc/passwd`, `/etc/group`) is their number in digits.
 */
export class HostUsers {
  #users: Names = { numbers: new Map(), names: new Map() }
  #groups: Names = this.#users
  #readMs = Number.NEGATIVE_INFINITY

  uidOf = (name: string): number | undefined => this.#read().#users.numbers.get(name) ?? numberIn(name)
  gidOf = (name: string): number | undefined => this.#read().#groups.numbers.get(name) ?? numberIn(name)
  userOf = (uid: number): string => this.#read().#users.names.get(uid) ?? String(uid)
  groupOf = (gid: number): string => this.#read().#groups.names.get(gid) ?? String(gid)

  #read(): this {
    if (performance.now() - this.#readMs < validMs) return this
    this.#readMs = performance.now()
    this.#users = namesIn('/etc/passwd')
    this.#groups = namesIn('/etc/group')
    return this
  }
}

const numberIn = (name: string): number | undefined =>
  /^\d{1,10}$/.test(name) && Number(name) < 2 ** 32 ? Number(name) : undefined

/** Lines of `name:password:number:…`; none where there is no such file. */
function namesIn(path: string): Names {
  const numbers = new Map<string, number>()
  const names = new Map<number, string>()
  let text = ''
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return { numbers, names }
  }
  for (const line of text.split('\n')) {
    const [name = '', , digits = ''] = line.split(':')
    const number = numberIn(digits)
    if (name === '' || number === undefined) continue
    if (!numbers.has(name)) numbers.set(name, number)
    if (!names.has(number)) names.set(number, name)
  }
  return { numbers, names }
}
