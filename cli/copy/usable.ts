import { type CheckName, filesystems } from '../../subjects/filesystems/filesystems.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import type { Session } from '../sign-in/session.ts'
import type { Found, Place, Role } from './places.ts'

/**
 * Checks without which nothing of a copy arrives. The others are of single files or of what a copy does not do: the first
 * file may be one that cannot be read, which is a failure among others.
 */
const needed: readonly CheckName[] = ['reach', 'credentials', 'root', 'list', 'write', 'delete']

/**
 * Checks a place before anything is copied: a target that takes nothing would be tried again and again, or make a failure
 * of each file. A check is of the root of a filesystem, whose rules need not be those of a path in it.
 * @throws GantryError STORE_REFUSED with each check that failed
 */
export async function requireUsable(
  session: Pick<Session, 'call'>,
  role: Role,
  { path, text }: Place,
  { fileSystemId }: Found,
): Promise<void> {
  if (path !== '/') return
  const { checks } = await session.call(filesystems['check-stored'], { fileSystemId })
  const failed = checks.filter(({ result }) => result === 'no')
  if (!failed.some(({ check }) => needed.includes(check))) return
  const why = failed.map(({ check, detail }) => (detail === undefined ? check : `${check}: ${detail}`))
  throw new GantryError('STORE_REFUSED', `${role} ${text} cannot be used: ${why.join('; ')}`)
}
