import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Static, Type } from 'typebox'
import { checkConfig, parseConfig } from '../../../config/config-error.ts'
import { makePrivate, readTextFile, writeSecretFile } from '../../../broker/common/files.ts'
import { developmentAdmin } from '../../../config/platform.ts'
import { developmentProviderPort, files } from '../../../subjects/kit/names.ts'
import { strict } from '../../../subjects/kit/schemas.ts'

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
const accountNames = Object.keys(accounts) as AccountName[]

export type Passwords = Record<AccountName, string>

const Hash = strict({ salt: Type.String({ maxLength: 100 }), hash: Type.String({ maxLength: 200 }) })

const StoredAccounts = strict({
  /** Where the provider listened last: an issuer is known by its address. */
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  passwords: strict({ administrator: Hash, viewer: Hash }),
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
  return checkConfig(StoredAccounts, parseConfig(path, text), files.developmentProvider)
}

export function writeAccounts(home: string, stored: StoredAccounts): void {
  writeSecretFile(pathIn(home), `${JSON.stringify(stored, null, 2)}\n`)
}

/** New accounts; the passwords are in the result alone, what is stored are hashes. */
export async function createAccounts(): Promise<{ stored: StoredAccounts; passwords: Passwords }> {
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
    stored: { port: developmentProviderPort, passwords: byName(({ stored }) => stored) },
    passwords: byName(({ password }) => password),
  }
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
