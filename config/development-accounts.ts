import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Static, Type } from 'typebox'
import { makePrivate, readTextFile, writeSecretFile } from '../broker/common/files.ts'
import { GantryError } from '../subjects/kit/errors.ts'
import { developmentProviderPort, files } from '../subjects/kit/names.ts'
import { strict } from '../subjects/kit/schemas.ts'
import { parseConfig } from './config-error.ts'
import { developmentAdmin } from './platform.ts'

/** Group of the second account; its members are viewers, by an assignment of the first start. */
export const developmentViewers = 'viewers'

export interface Account {
  readonly subject: string
  readonly name: string
  readonly groups: readonly string[]
}

/** By the name that is typed. */
export const accounts = {
  administrator: { subject: developmentAdmin, name: 'Development administrator', groups: [] },
  viewer: { subject: 'development-viewer', name: 'Development viewer', groups: [developmentViewers] },
} as const satisfies Record<string, Account>
export type AccountName = keyof typeof accounts
export const accountNames = Object.keys(accounts) as AccountName[]

export type Passwords = Record<AccountName, string>

const Hash = strict({ salt: Type.String({ maxLength: 100 }), hash: Type.String({ maxLength: 200 }) })

const StoredAccounts = strict({
  /** Where the provider listened last: an issuer is known by its address. */
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  passwords: strict({ administrator: Hash, viewer: Hash }),
  /** Whose password nobody has been shown yet: the start failed first, and the next one makes another. */
  unseen: Type.Optional(Type.Array(Type.Union([Type.Literal('administrator'), Type.Literal('viewer')]))),
})
export type StoredAccounts = Static<typeof StoredAccounts>

/** 96 bits, and still to be copied by hand. */
const passwordBytes = 12
const saltBytes = 16
const hashBytes = 32

const derive = promisify<string, string, number, Buffer>(scrypt)

const pathIn = (home: string): string => join(home, files.developmentProvider)

/** The accounts as they are stored. @throws ConfigError when the file is not as we wrote it */
export function readAccounts(home: string): StoredAccounts | undefined {
  const path = pathIn(home)
  const text = readTextFile(path)
  if (text === undefined) return undefined
  makePrivate(path)
  return parseConfig(StoredAccounts, text, files.developmentProvider)
}

export function writeAccounts(home: string, stored: StoredAccounts): void {
  writeSecretFile(pathIn(home), `${JSON.stringify(stored, null, 2)}\n`)
}

/** New accounts; the passwords are in the result alone, what is stored are hashes. @param port of their provider */
export async function createAccounts(
  port: number = developmentProviderPort,
): Promise<{ stored: StoredAccounts; passwords: Passwords }> {
  const made = await Promise.all(
    accountNames.map(async (name) => {
      const password = randomBytes(passwordBytes).toString('base64url')
      const salt = randomBytes(saltBytes).toString('base64url')
      const hash = (await derive(password, salt, hashBytes)).toString('base64url')
      return { name, password, stored: { salt, hash } }
    }),
  )
  const byName = <T>(value: (one: (typeof made)[number]) => T) =>
    Object.fromEntries(made.map((one) => [one.name, value(one)])) as Record<AccountName, T>
  return {
    stored: { port, passwords: byName(({ stored }) => stored) },
    passwords: byName(({ password }) => password),
  }
}

/** Accounts whose passwords nobody has seen get new ones. The passwords are undefined where there are none. */
export async function renewUnseen(
  stored: StoredAccounts,
): Promise<{ stored: StoredAccounts; passwords: Partial<Passwords> | undefined }> {
  const { unseen = [] } = stored
  if (unseen.length === 0) return { stored, passwords: undefined }
  const made = await createAccounts()
  const only = <T>(all: Record<AccountName, T>) =>
    Object.fromEntries(unseen.map((name) => [name, all[name]])) as Partial<Record<AccountName, T>>
  return {
    stored: { ...stored, passwords: { ...stored.passwords, ...only(made.stored.passwords) }, unseen },
    passwords: only(made.passwords),
  }
}

/** Notes that the passwords of this start have been shown. */
export function markSeen(home: string): void {
  const stored = readAccounts(home)
  if (stored === undefined) return
  const { unseen: _, ...seen } = stored
  writeAccounts(home, seen)
}

/** Gives an account a new password. @throws GantryError for a name that is none, and where there are no accounts */
export async function resetPassword(
  home: string,
  user: string,
): Promise<{ password: string; account: Account }> {
  const name = accountNames.find((one) => one === user)
  if (name === undefined)
    throw new GantryError('INVALID_INPUT', `unknown user ${user}: use ${accountNames.join(' or ')}`)
  const stored = readAccounts(home)
  if (stored === undefined)
    throw new GantryError(
      'NOT_FOUND',
      `${home} has no ${files.developmentProvider}: start Gantry once to create it. If you use your own identity provider (oidc.issuer), change the password there`,
    )
  const made = await createAccounts()
  writeAccounts(home, {
    ...stored,
    passwords: { ...stored.passwords, [name]: made.stored.passwords[name] },
    unseen: (stored.unseen ?? []).filter((one) => one !== name),
  })
  return { password: made.passwords[name], account: accounts[name] }
}

/** The account of a name and password, or undefined; an unknown name takes as long as a wrong password. */
export async function accountFor(
  { passwords }: StoredAccounts,
  name: string,
  password: string,
): Promise<Account | undefined> {
  const known = accountNames.find((one) => one === name)
  const { salt, hash } = passwords[known ?? 'administrator']
  const isRight = timingSafeEqual(await derive(password, salt, hashBytes), Buffer.from(hash, 'base64url'))
  return isRight && known !== undefined ? accounts[known] : undefined
}
