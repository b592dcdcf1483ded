import type { Principal, Privilege } from '../../../../subjects/metadata/objects.ts'
import type { Value } from '../../thrift/types.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import { concurrently } from '../../../../broker/common/concurrently.ts'
import type { CatalogWriter, Privileges, PrivilegesOf } from '../contract/catalog.ts'
import { byCodePoints } from '../order.ts'
import { type HiveObjectPrivilege, type HiveObjectRef, methods } from './idl.ts'
import { changing, type Metastore, type What } from './metastore.ts'
import { principalNumber, principalOf } from './objects.ts'
import { hiveTable } from './tables.ts'

type Ref = Value<typeof HiveObjectRef>

/** Numbers of `HiveObjectType`. */
const objectTypes = { database: 2, table: 3, column: 5 } as const
/** Numbers of `GrantRevokeType`. */
const requestTypes = { grant: 1, revoke: 2 } as const
/** Columns that are asked about at the same time: a metastore tells of one by one. */
const columnsAtOnce = 4

/** Who has granted it at another metastore may be somebody else here, or nobody. */
export const heldPrivilege = ({ grantor: _grantor, ...held }: Privilege): Privilege => held

/** Privileges of databases, tables and columns, and the roles that have them. The log of notifications tells nothing of them. */
export class HivePrivileges implements Privileges, NonNullable<CatalogWriter['privileges']> {
  readonly #metastore: Metastore
  readonly #grantor: Principal

  /** @param user who grants what is granted */
  constructor(metastore: Metastore, user: string) {
    this.#metastore = metastore
    this.#grantor = { name: user, type: 'user' }
  }

  readonly held = heldPrivilege

  async of(object: PrivilegesOf, signal: AbortSignal): Promise<readonly Privilege[]> {
    const { database, name } = object
    const what = this.#metastore.what(`privileges of ${nameOf(object)}`)
    const found: Privilege[] = []
    const ask = async (ref: Ref, column?: string) => {
      const told = await this.#metastore.ask(methods.privileges, { object: ref }, what, signal)
      found.push(...told.map((one) => privilegeOf(one, column)))
    }
    if (name === undefined) {
      await this.#metastore.ask(methods.database, { name: database }, what, signal)
      await ask(refOf(object))
    } else {
      const { sd = {}, partitionKeys = [] } = await hiveTable(this.#metastore, database, name, signal)
      await ask(refOf(object))
      const columns = [...(sd.cols ?? []), ...partitionKeys].map((column) => column.name ?? '')
      await concurrently(columns, columnsAtOnce, (column) => ask(refOf(object, column), column))
    }
    return found.toSorted((one, other) => byCodePoints(keyOf(one), keyOf(other)))
  }

  async members(role: string, signal: AbortSignal): Promise<readonly Principal[] | undefined> {
    const what = this.#metastore.what(`members of the role ${role}`)
    const roles = await this.#metastore.ask(methods.roleNames, {}, what, signal)
    const isIt = (name: string) => name.toLowerCase() === role.toLowerCase()
    // Hive does not tell them apart by the case of their names.
    const roleName = roles.includes(role) ? role : roles.find(isIt)
    if (roleName === undefined) return undefined
    const request = { roleName }
    const { principalGrants = [] } = await this.#metastore.ask(
      methods.principalsInRole,
      { request },
      what,
      signal,
    )
    return principalGrants.map(({ principalName, principalType }) =>
      principalOf(principalName, principalType),
    )
  }

  grant(object: PrivilegesOf, privileges: readonly Privilege[], signal: AbortSignal): Promise<void> {
    const what = this.#metastore.what(`granting privileges of ${nameOf(object)}`)
    const granted = privileges.map((one) => ({ ...one, grantor: this.#grantor }))
    return this.#change('grant', object, granted, what, signal)
  }

  revoke(object: PrivilegesOf, privileges: readonly Privilege[], signal: AbortSignal): Promise<void> {
    const what = this.#metastore.what(`revoking privileges of ${nameOf(object)}`)
    return this.#change('revoke', object, privileges, what, signal)
  }

  readonly roles = {
    create: async (role: string, signal: AbortSignal): Promise<void> => {
      const what = this.#metastore.what(`making the role ${role}`)
      await changing(this.#metastore.change(methods.createRole, { role: { roleName: role } }, what, signal))
    },
    add: async (role: string, member: Principal, signal: AbortSignal): Promise<void> => {
      const what = this.#metastore.what(`giving the role ${role} to ${member.name}`)
      const request = {
        requestType: requestTypes.grant,
        roleName: role,
        principalName: member.name,
        principalType: principalNumber(member),
        ...grantorOf(this.#grantor),
        grantOption: false,
      }
      const { success } = await this.#metastore.change(methods.changeRole, { request }, what, signal)
      requireDone(success, what)
    },
  }

  async #change(
    how: keyof typeof requestTypes,
    object: PrivilegesOf,
    privileges: readonly Privilege[],
    what: What,
    signal: AbortSignal,
  ): Promise<void> {
    const request = {
      requestType: requestTypes[how],
      privileges: { privileges: privileges.map((one) => hivePrivilegeOf(object, one)) },
      revokeGrantOption: false,
    }
    const change = async () => {
      const { success } = await this.#metastore.change(methods.changePrivileges, { request }, what, signal)
      requireDone(success, what)
    }
    await changing(change())
  }
}

/** A metastore can say that something was not done, without a reason. */
function requireDone(success: boolean | undefined, what: What): void {
  if (success === false) throw new StoreError('io', `${what()}: the metastore did not do it`)
}

const nameOf = ({ database, name }: PrivilegesOf) => (name === undefined ? database : `${database}.${name}`)

function refOf({ database, name }: PrivilegesOf, column?: string): Ref {
  if (name === undefined) return { objectType: objectTypes.database, dbName: database }
  const table = { dbName: database, objectName: name }
  return column === undefined
    ? { objectType: objectTypes.table, ...table }
    : { objectType: objectTypes.column, ...table, columnName: column }
}

function privilegeOf(
  { principalName, principalType, grantInfo = {}, authorizer }: Value<typeof HiveObjectPrivilege>,
  column: string | undefined,
): Privilege {
  const { privilege = '', grantor, grantorType, grantOption = false } = grantInfo
  return {
    principal: principalOf(principalName, principalType),
    privilege,
    ...(column !== undefined && { column }),
    grantOption,
    ...(grantor !== undefined && grantor !== '' && { grantor: principalOf(grantor, grantorType) }),
    ...(authorizer !== undefined && authorizer !== '' && { authorizer }),
  }
}

/** A metastore fails where the type of a grantor is missing; a name it can do without. */
const nobody: Principal = { name: '', type: 'user' }
const grantorOf = (grantor: Principal) => ({
  grantor: grantor.name,
  grantorType: principalNumber(grantor),
})

const hivePrivilegeOf = (
  object: PrivilegesOf,
  { principal, privilege, column, grantOption, grantor, authorizer }: Privilege,
): Value<typeof HiveObjectPrivilege> => ({
  hiveObject: refOf(object, column),
  principalName: principal.name,
  principalType: principalNumber(principal),
  grantInfo: {
    privilege,
    createTime: 0,
    ...grantorOf(grantor ?? nobody),
    grantOption,
  },
  ...(authorizer !== undefined && { authorizer }),
})

const keyOf = ({ column = '', principal, privilege, authorizer = '' }: Privilege): string =>
  [column, principal.type, principal.name, privilege, authorizer].join('\0')
