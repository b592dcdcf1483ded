import { byCodePoints } from '../order.ts'
import { type FailureClass, StoreError } from '../../../drivers/contract/store-error.ts'
import type { StoreAddress } from '../../../drivers/http/store-address.ts'
import { InnerAddressError } from '../../../../broker/common/inner-addresses.ts'
import { ThriftConnection, type ThriftEndpoint, type ThriftLimits } from '../../thrift/connection.ts'
import {
  ReplyTooLong,
  ThriftBroken,
  ThriftException,
  ThriftRefusal,
  ThriftUnwelcome,
} from '../../thrift/failures.ts'
import { MalformedThrift } from '../../thrift/scanner.ts'
import type { Fields, Method, Struct, ThriftType, Value } from '../../thrift/types.ts'
import { methods } from './idl.ts'

/** A metastore that answers for the catalog; one of several that are the same. */
export interface MetastoreAddress {
  readonly endpoint: ThriftEndpoint
  /** Where it may be; undefined for anywhere. */
  readonly address: StoreAddress | undefined
}

/** Connections that are kept for the next call. */
const maxIdle = 4
/** Messages are for a line: servers put a whole trace of Java into some. */
const maxMessageLength = 500

/** What a call does, for messages. */
export type What = () => string

/** Dropping a table with a hundred thousand partitions takes a metastore minutes. */
const changeTimeoutMs = 10 * 60_000

/** Calls to the metastores of a catalog: to the one that answered last, and to the others by turns where that does not. */
export class Metastore {
  readonly #addresses: readonly MetastoreAddress[]
  readonly #user: string
  readonly #limits: ThriftLimits
  readonly #idle: { readonly of: MetastoreAddress; readonly connection: ThriftConnection }[] = []
  readonly #place: string
  /** Names of functions that the servers do not have. */
  readonly #lacking = new Set<string>()
  #current = 0
  #isClosed = false

  /** @param user as whom all is asked @param place of all of them, for messages */
  constructor(addresses: readonly MetastoreAddress[], user: string, limits: ThriftLimits, place: string) {
    this.#addresses = addresses
    this.#user = user
    this.#limits = limits
    this.#place = place
  }

  /** @param operation with its object */
  what(operation: string): What {
    return () => `${operation} of ${this.#place}`
  }

  /**
   * Asks what changes nothing, so that it may be asked again. Throws StoreError; `gone` where the server says that an object is
   * not there, `changed` where it says that one is, `unsupported` where it has no such function or takes no such object.
   */
  async ask<A extends Fields, R extends ThriftType | 'void'>(
    method: Method<A, R>,
    values: Struct<A>,
    what: What,
    signal: AbortSignal,
  ): Promise<Value<R>> {
    let failure: unknown
    // Each of them once, and the first once more: a connection that lay idle may have been closed meanwhile.
    for (let turn = 0; turn <= this.#addresses.length; turn++) {
      try {
        const of = this.#addresses[this.#current]!
        const connection = this.#take(of) ?? (await this.#open(of, signal))
        return (await this.#callOn(of, connection, method, values, signal)) as Value<R>
      } catch (error) {
        if (!(error instanceof ThriftBroken) || error === signal.reason) throw failureOf(error, what, signal)
        failure = error
        this.#turn()
      }
    }
    throw failureOf(failure, what, signal)
  }

  /**
   * Changes something. What was sent is not sent again: who calls is told `unreachable`, and looks whether it was done. Throws as
   * `ask` does.
   */
  async change<A extends Fields, R extends ThriftType | 'void'>(
    method: Method<A, R>,
    values: Struct<A>,
    what: What,
    signal: AbortSignal,
  ): Promise<Value<R>> {
    try {
      const [of, connection] = await this.#anyConnection(signal)
      try {
        return (await this.#callOn(of, connection, method, values, signal, changeTimeoutMs)) as Value<R>
      } catch (error) {
        if (error instanceof ThriftBroken) this.#turn()
        throw error
      }
    } catch (error) {
      throw failureOf(error, what, signal)
    }
  }

  /** Calls a newer function where the servers have it, else an older one that does the same. */
  async either<T>(newer: Method, callNewer: () => Promise<T>, callOlder: () => Promise<T>): Promise<T> {
    if (!this.#lacking.has(newer.name))
      try {
        return await callNewer()
      } catch (error) {
        if (!isLacking(error)) throw error
        this.#lacking.add(newer.name)
      }
    try {
      return await callOlder()
    } catch (error) {
      // A server of another release has taken its place.
      if (isLacking(error)) this.#lacking.delete(newer.name)
      throw error
    }
  }

  /** Of the first address that is there. */
  async #anyConnection(signal: AbortSignal): Promise<[MetastoreAddress, ThriftConnection]> {
    for (let turn = 1; ; turn++) {
      const of = this.#addresses[this.#current]!
      try {
        return [of, this.#take(of) ?? (await this.#open(of, signal))]
      } catch (error) {
        if (!(error instanceof ThriftBroken) || turn === this.#addresses.length) throw error
        this.#turn()
      }
    }
  }

  async #callOn<A extends Fields, R extends ThriftType | 'void'>(
    of: MetastoreAddress,
    connection: ThriftConnection,
    method: Method<A, R>,
    values: Struct<A>,
    signal: AbortSignal,
    timeoutMs?: number,
  ): Promise<unknown> {
    try {
      return await connection.call(method, values, signal, timeoutMs)
    } finally {
      this.#give(of, connection)
    }
  }

  /** To the next address: this one does not answer, and what lay idle beside it was closed with it. */
  #turn(): void {
    this.#closeIdle()
    this.#current = (this.#current + 1) % this.#addresses.length
  }

  async #open({ endpoint, address }: MetastoreAddress, signal: AbortSignal): Promise<ThriftConnection> {
    address?.require()
    const lookup = address?.lookup
    const connection = await ThriftConnection.open(endpoint, this.#limits, { lookup, signal })
    // It knows already.
    if (endpoint.authenticate !== undefined) return connection
    try {
      await connection.call(methods.setUser, { user: this.#user, groups: [] }, signal)
    } catch (error) {
      // A server that asks who one is in another way has no use for it.
      if (!(error instanceof ThriftRefusal)) {
        connection.close()
        throw error
      }
    }
    return connection
  }

  #take(of: MetastoreAddress): ThriftConnection | undefined {
    const at = this.#idle.findLastIndex((one) => one.of === of && one.connection.isUsable)
    return at < 0 ? undefined : this.#idle.splice(at, 1)[0]!.connection
  }

  #give(of: MetastoreAddress, connection: ThriftConnection): void {
    if (!connection.isUsable) return
    if (this.#isClosed || this.#idle.length >= maxIdle) connection.close()
    else this.#idle.push({ of, connection })
  }

  close(): void {
    this.#isClosed = true
    this.#closeIdle()
  }

  #closeIdle(): void {
    for (const { connection } of this.#idle.splice(0)) connection.close()
  }
}

/** Whether it failed as the server has no such function. */
export const isLacking = (error: unknown): boolean =>
  error instanceof StoreError && error.cause instanceof ThriftRefusal && error.cause.isUnknownMethod

/** What it says of an object that is not there by an exception that has no name for that. */
const saysMissing = /doesn't exist|does not exist|not exist|not found|no such/i

/**
 * What it says of a folder that it could not make, with the guess that access may not be allowed: a file system that does not
 * answer for a moment is told so as well, and it may be tried again.
 */
const saysNoFolder = /failed to create external path/i

/** What it says of a text that its database has no room for. */
const saysTooLong = /has maximum length/

/** Codes of TLS that say that the certificate is the reason. */
const isOfCertificate = (code: string | undefined): boolean =>
  code !== undefined && /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME/.test(code)

const whereFix = 'check metastoreUris, the network, and whether the metastore is running'
const whoFix =
  'set kerberosPrincipal and kerberosKeytab of a user that the metastore accepts, and metastorePrincipal as in its hive.metastore.kerberos.principal'

function failureOf(error: unknown, what: What, signal: AbortSignal): unknown {
  if (signal.aborted && error === signal.reason) return error
  const failed = (failure: StoreError['failure'], said: string) =>
    new StoreError(failure, `${what()}: ${said.slice(0, maxMessageLength)}`, { cause: error })
  if (error instanceof InnerAddressError) return failed('refused', error.message)
  if (error instanceof ThriftUnwelcome) return failed('refused', `${error.message}; ${whoFix}`)
  if (error instanceof StoreError) return failed(error.failure, error.message)
  if (error instanceof ThriftBroken)
    return isOfCertificate(error.code)
      ? failed('refused', error.message)
      : failed('unreachable', `${error.message}; ${whereFix}`)
  if (error instanceof ReplyTooLong) return failed('too-large', `the reply was not read: ${error.message}`)
  if (error instanceof MalformedThrift)
    return failed('refused', `this is not a Hive metastore: ${error.message}`)
  if (error instanceof ThriftRefusal)
    return failed(error.isUnknownMethod ? 'unsupported' : 'io', error.message)
  if (!(error instanceof ThriftException)) return error
  switch (error.name) {
    case 'NoSuchObjectException':
      return failed('gone', error.message || 'it does not exist')
    case 'AlreadyExistsException':
      return failed('changed', error.message || 'it already exists')
    case 'InvalidObjectException':
    case 'InvalidOperationException':
    case 'InvalidInputException':
      return failed(saysMissing.test(error.message) ? 'gone' : 'unsupported', error.message || error.name)
    case 'MetaException':
      if (saysTooLong.test(error.message)) return failed('unsupported', error.message)
  }
  // Whatever went wrong in the server: the message says what.
  if (saysNoFolder.test(error.message)) return failed('io', error.message)
  const isDenied = /permission denied|not allowed|AccessControlException|authorization/i.test(error.message)
  return failed(isDenied ? 'permission' : 'io', error.message || error.name)
}

export const sorted = (names: readonly string[]): string[] => names.toSorted(byCodePoints)

/** Waits for a change; what is gone when it is to be changed was changed by somebody else, which throws `changed`. */
export async function changing(work: Promise<unknown>, as: FailureClass = 'gone'): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!(error instanceof StoreError) || (error.failure !== 'gone' && error.failure !== as)) throw error
    throw new StoreError('changed', error.message, { cause: error })
  }
}
