import type { ExtendedAttribute } from '../contract/driver.ts'
import { field } from './client.ts'

/** The access control list of a file or folder of HDFS as one attribute: its entries as HDFS writes them, joined by commas. */
const aclName = 'hdfs.acl'

/** Extended attributes that everybody may read and write who may the file; `trusted.` and `raw.` are the superuser's. */
const kept = 'user.'

/** When we made a file or folder, in milliseconds since 1970 by our clock: HDFS keeps no such time. It is of no other store. */
const createdName = 'user.gantry.created'

const isKept = (name: string): boolean => name.startsWith(kept) && name !== createdName

/** The request that notes when something was made, without its path. */
export const askedForCreation = (createdMs: number) => ({
  op: 'SETXATTR',
  params: { 'xattr.name': createdName, 'xattr.value': `"${createdMs}"`, flag: 'CREATE,REPLACE' },
})

/** That time in an answer to GETXATTRS with values in base64. */
export function creationIn(json: unknown): number | undefined {
  const list = field(json, 'XAttrs')
  const noted: unknown = Array.isArray(list)
    ? list.find((one) => field(one, 'name') === createdName)
    : undefined
  const text = textOf(field(noted, 'value'))
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? Buffer.from(value.replace(/^0[sS]/, ''), 'base64').toString('latin1') : ''

/** The attributes in an answer to GETXATTRS with values in base64. */
export function extendedIn(json: unknown): ExtendedAttribute[] | undefined {
  const list = field(json, 'XAttrs')
  if (!Array.isArray(list)) return undefined
  return list.flatMap((one) => {
    const [name, value] = [field(one, 'name'), field(one, 'value')]
    if (typeof name !== 'string' || !isKept(name)) return []
    const bytes =
      typeof value === 'string' ? Buffer.from(value.replace(/^0[sS]/, ''), 'base64') : Buffer.alloc(0)
    return [{ name: Buffer.from(name).toString('latin1'), value: bytes }]
  })
}

/** The list in an answer to GETACLSTATUS; undefined where a mode says all. `mode`: of what it is of. */
export function aclIn(json: unknown, mode: number): ExtendedAttribute | undefined {
  const status = field(json, 'AclStatus')
  const list = field(status, 'entries')
  if (!Array.isArray(list) || list.length === 0) return undefined
  const named = list.filter((entry): entry is string => typeof entry === 'string')
  const bits = (shift: number) => {
    const of = (mode >> shift) & 7
    return `${of & 4 ? 'r' : '-'}${of & 2 ? 'w' : '-'}${of & 1 ? 'x' : '-'}`
  }
  // The answer leaves out what the mode says: its group bits are the mask where there are entries of others.
  const hasGroup = named.some((entry) => entry.startsWith('group::'))
  const own = [
    `user::${bits(6)}`,
    ...(hasGroup ? [`mask::${bits(3)}`] : [`group::${bits(3)}`]),
    `other::${bits(0)}`,
  ]
  return { name: aclName, value: Buffer.from([...own, ...named].join(',')) }
}

/** The request that gives an attribute, without its path; undefined for one that HDFS does not keep. */
export function askedFor({
  name,
  value,
}: ExtendedAttribute):
  { readonly op: string; readonly params: Readonly<Record<string, string>> } | undefined {
  if (name === aclName) return { op: 'SETACL', params: { aclspec: Buffer.from(value).toString() } }
  if (!isKept(name)) return undefined
  const params = {
    'xattr.name': Buffer.from(name, 'latin1').toString(),
    'xattr.value': `0x${Buffer.from(value).toString('hex')}`,
    flag: 'CREATE,REPLACE',
  }
  return { op: 'SETXATTR', params }
}
