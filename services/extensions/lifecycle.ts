import { isSameConnection } from '../../broker/callout/disconnects.ts'
import type { Log } from '../../broker/common/log.ts'
import { every, type Task } from '../../broker/tasks/tasks.ts'
import type { ClientConnection } from '../../subjects/kit/contract.ts'
import { GantryError, isGantryError } from '../../subjects/kit/errors.ts'
import { extensionLimits, type Registration } from '../../subjects/extensions/model.ts'
import { product } from '../../subjects/kit/names.ts'
import { plural } from '../../subjects/kit/plural.ts'
import { HeartbeatBaseline } from './heartbeat-baseline.ts'
import type { Directory } from './directory.ts'
import type { LogBook } from './log-book.ts'
import type { LostExtensions } from './lost.ts'
import { type ExtensionState, instanceKey, type InstanceRecord } from './record.ts'

export interface LifecycleOptions {
  readonly state: ExtensionState
  readonly directory: Directory
  readonly book: LogBook
  readonly lost: Pick<LostExtensions, 'left' | 'back'>
  /** Whether the broker still has a connection. */
  readonly isConnected: (connection: ClientConnection) => Promise<boolean>
  /** Has the broker close a connection. */
  readonly disconnect: (connection: ClientConnection) => Promise<void>
  readonly log: Log
}

/** Comings and goings of instances. */
export class Lifecycle {
  readonly #options: LifecycleOptions
  readonly #heartbeatBaseline = new HeartbeatBaseline(Date.now())
  readonly #sweeper: Task

  constructor(options: LifecycleOptions) {
    this.#options = options
    this.#sweeper = every('extensions.silent', () => this.#sweep())
  }

  /**
   * Makes the prefix the owner's, if it is nobody's.
   * @throws GantryError NOT_ALLOWED_IN_STATE when it is somebody else's, or the owner has too many
   */
  async claim(prefix: string, owner: string): Promise<void> {
    const { owned } = this.#options.state
    for (;;) {
      const known = await owned.get(prefix)
      if (known?.owner === owner) return
      if (known !== undefined) {
        throw new GantryError(
          'NOT_ALLOWED_IN_STATE',
          `the prefix ${prefix} belongs to another owner: choose another prefix, or ask its owner or an administrator to release it with "${product} extensions release ${prefix}"`,
        )
      }
      if (await owned.isGroupOf(owner, extensionLimits.prefixesOfOwner)) {
        throw new GantryError(
          'NOT_ALLOWED_IN_STATE',
          `${owner} already has ${extensionLimits.prefixesOfOwner} prefixes, which is the limit: release one with "${product} extensions release"`,
        )
      }
      try {
        await owned.create(prefix, { prefix, owner, created: new Date().toISOString() })
        return
      } catch (error) {
        // Somebody was faster; maybe the same owner.
        if (!isGantryError(error, 'ALREADY_EXISTS')) throw error
      }
    }
  }

  /** Stores an instance; resolves when this node knows it. @throws GantryError IN_USE */
  async join(record: InstanceRecord): Promise<void> {
    const { directory, state, book, lost, isConnected } = this.#options
    const { prefix, instance, key } = record
    const known = directory.get(prefix, instance)
    if (known !== undefined && known.key !== key)
      throw new GantryError(
        'IN_USE',
        `another key already has an instance ${instance} of ${prefix}: choose another id`,
      )
    if (known === undefined && directory.instances(prefix).length >= extensionLimits.instances)
      throw new GantryError(
        'IN_USE',
        `${prefix} already has ${extensionLimits.instances} instances, which is the limit: stop one first`,
      )
    const id = instanceKey(record)
    await state.heartbeats.put(id, { seen: record.registered })
    await state.instances.put(id, record)
    await directory.until(() => directory.get(prefix, instance)?.registered === record.registered)
    await lost.back(prefix)
    if (known === undefined)
      book.note(prefix, {
        level: 'info',
        message: `registered, ${summaryText(record.registration)}`,
        instance,
      })
    // It may have gone before it was known, so that nobody noticed.
    if (!record.registration.outlivesConnection && !(await isConnected(record.connection)))
      await this.lose(record, 'its connection has closed')
  }

  /** Notes a sign of life, and from which connection it came. */
  async beat(record: InstanceRecord, connection: ClientConnection): Promise<void> {
    const { state, isConnected } = this.#options
    const id = instanceKey(record)
    // It has reconnected; or somebody sends its heartbeats for it, whose connection says nothing.
    const hasMoved =
      !isSameConnection(record.connection, connection) && !(await isConnected(record.connection))
    if (hasMoved) await state.instances.update(id, (current) => ({ ...current, connection }))
    await state.heartbeats.put(id, { seen: new Date().toISOString() })
  }

  /** Takes an instance away that says goodbye. */
  async leave(record: InstanceRecord): Promise<void> {
    if (await this.#remove(record)) this.#note(record, 'info', 'deregistered')
  }

  /** Takes an instance away that is gone. */
  async lose(record: InstanceRecord, reason: string): Promise<void> {
    if (!(await this.#remove(record))) return
    this.#note(record, 'warn', `lost: ${reason}`)
    await this.#options.lost.left(record.prefix)
  }

  disconnected(connection: ClientConnection): void {
    for (const record of this.#options.directory.on(connection))
      this.#inBackground(this.lose(record, 'its connection has closed'))
  }

  stop(): void {
    this.#sweeper.stop()
  }

  #sweep(): void {
    const nowMs = Date.now()
    for (const record of this.#options.directory.silent(nowMs, this.#heartbeatBaseline.sinceMs(nowMs)))
      this.#inBackground(this.#loseSilent(record))
  }

  /** Where it hangs its connection may still be there, and the broker would go on to send it calls. */
  async #loseSilent(record: InstanceRecord): Promise<void> {
    const { directory, disconnect } = this.#options
    await this.lose(record, 'it sent no heartbeat')
    const { connection, registration } = record
    if (!registration.outlivesConnection && directory.on(connection).length === 0)
      await disconnect(connection)
  }

  #inBackground(work: Promise<void>): void {
    work.catch((err: unknown) => this.#options.log.error({ err }, 'A lost extension could not be removed.'))
  }

  #note({ prefix, instance }: InstanceRecord, level: 'info' | 'warn', message: string): void {
    this.#options.book.note(prefix, { level, message, instance })
  }

  /** Whether it was this call that removed it: not another node, and it has not come back on another connection. */
  async #remove(record: InstanceRecord): Promise<boolean> {
    const { directory, state } = this.#options
    const id = instanceKey(record)
    try {
      await state.instances.delete(id, (current) => {
        if (!isSameConnection(current.connection, record.connection))
          throw new GantryError('CONFLICT', `${id} is connected again`)
      })
    } catch (error) {
      if (isGantryError(error, 'NOT_FOUND') || isGantryError(error, 'CONFLICT')) return false
      throw error
    }
    await state.heartbeats.erase(id)
    await directory.until(() => directory.get(record.prefix, record.instance) === undefined)
    return true
  }
}

const summaryText = ({ version, endpoints = [] }: Registration): string =>
  `version ${version}, ${plural(endpoints.length, 'endpoint')}`
