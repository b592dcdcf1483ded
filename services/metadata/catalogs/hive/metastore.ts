import { StoreError } from '../../../drivers/contract/store-error.ts'
import type { StoreAddress } from '../../../drivers/http/store-address.ts'
import { InnerAddressError } from '../../../../broker/common/inner-addresses.ts'
import {
  ThriftBroken,
  ThriftConnection,
  type ThriftEndpoint,
  ThriftException,
  type ThriftLimits,
  ThriftRefusal,
} from '../../thrift/connection.ts'
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

/**
 * Calls to the metastores of a catalog: to the one that answered last, and to the others by turns where that does not. What is
 * asked changes nothing, so that it may be asked again.
 */
export class Metastore {
  readonly #addresses: readonly MetastoreAddress[]
  readonly #user: string
  readonly #limits: ThriftLimits
  readonly #idle: { readonly of: MetastoreAddress; readonly connection: ThriftConnection }[] = []
  #current = 0
  #isClosed = false

  /** @param user as whom all is asked */
  constructor(addresses: readonly MetastoreAddress[], user: string, limits: ThriftLimits) {
    this.#addresses = addresses
    this.#user = user
    this.#limits = limits
  }

  /**
   * Throws StoreError; `gone` where the server says that an object is not there, `unsupported` where it has no such function.
   * @param what names operation and object for messages
   */
  async ask<A extends Fields, R extends ThriftType | 'void'>(
    method: Method<A, R>,
    values: Struct<A>,
    what: () => string,
    signal: AbortSignal,
  ): Promise<Value<R>> {
    let failure: unknown
    // Each of them once, and the first once more: a connection that lay idle may have been closed meanwhile.
    for (let turn = 0; turn <= this.#addresses.length; turn++) {
      try {
        const answer = await this.#askAt(this.#addresses[this.#current]!, method, values, signal)
        return answer as Value<R>
      } catch (error) {
        if (!(error instanceof ThriftBroken) || error === signal.reason) throw failureOf(error, what, signal)
        failure = error
        // What lay idle beside it was closed with it.
        this.#closeIdle()
        this.#current = (this.#current + 1) % this.#addresses.length
      }
    }
    throw failureOf(failure, what, signal)
  }

  async #askAt<A extends Fields, R extends ThriftType | 'void'>(
    of: MetastoreAddress,
    method: Method<A, R>,
    values: Struct<A>,
    signal: AbortSignal,
  ): Promise<unknown> {
    const connection = this.#take(of) ?? (await this.#open(of, signal))
    try {
      return await connection.call(method, values, signal)
    } finally {
      this.#give(of, connection)
    }
  }

  async #open({ endpoint, address }: MetastoreAddress, signal: AbortSignal): Promise<ThriftConnection> {
    address?.require()
    const lookup = address?.lookup
    const connection = await ThriftConnection.open(endpoint, this.#limits, { lookup, signal })
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

/** Codes of TLS that say that the certificate is the reason. */
const isOfCertificate = (code: string | undefined): boolean =>
  code !== undefined && /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME/.test(code)

function failureOf(error: unknown, what: () => string, signal: AbortSignal): unknown {
  if (signal.aborted && error === signal.reason) return error
  const failed = (failure: StoreError['failure'], said: string) =>
    new StoreError(failure, `${what()}: ${said.slice(0, maxMessageLength)}`, { cause: error })
  if (error instanceof InnerAddressError) return failed('refused', error.message)
  if (error instanceof ThriftBroken)
    return failed(isOfCertificate(error.code) ? 'refused' : 'unreachable', error.message)
  if (error instanceof MalformedThrift)
    return failed('refused', `this is no Hive metastore: ${error.message}`)
  if (error instanceof ThriftRefusal)
    return failed(error.isUnknownMethod ? 'unsupported' : 'io', error.message)
  if (!(error instanceof ThriftException)) return error
  if (error.name === 'NoSuchObjectException') return failed('gone', error.message || 'it is not there')
  // Whatever went wrong in the server: the message says what.
  const isDenied = /permission denied|not allowed|AccessControlException|authorization/i.test(error.message)
  return failed(isDenied ? 'permission' : 'io', error.message || error.name)
}
