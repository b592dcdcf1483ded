import type { Log } from '../../../broker/common/log.ts'
import { formatToken, parseToken } from '../../../broker/identity/token.ts'
import { type Key, keys as keyContracts } from '../../../subjects/access/keys.ts'
import type { Trail } from '../audit.ts'
import { judge, type Judged } from '../authorise.ts'
import { admin } from '../roles/built-in-roles.ts'
import { issueKey, type Issuer, type KeyCollection, localOperator, type StoredKey } from './keys.ts'

export interface LocalOperatorOptions {
  readonly keys: KeyCollection
  readonly issuer: Issuer
  readonly trail: Trail
  /** Drops every live connection of a key. */
  readonly kick: (keyId: string) => Promise<void>
  readonly log: Log
}

/** What the local operator may do and see: everything. */
const operatorRights = {
  roles: [admin.name],
  capabilities: { pub: admin.pub, sub: admin.sub },
  visible_extensions: admin.visible_extensions,
}

/** The key of whoever runs the platform on its own host. Its token is in the configuration folder. */
export class LocalOperator {
  readonly #options: LocalOperatorOptions
  #token = ''

  constructor(options: LocalOperatorOptions) {
    this.#options = options
  }

  /** The token in use, once there is one. */
  get token(): string {
    return this.#token
  }

  /** The same token, with the present place in it, when it is valid; else that of a new key. */
  async tokenAtStart(current: string | undefined): Promise<string> {
    const { issuer, log } = this.#options
    const verdict = current === undefined ? undefined : await this.#judge(current)
    if (verdict !== undefined && 'refused' in verdict)
      log.warn({ reason: verdict.refused }, 'The stored operator token is no longer valid; creating another.')
    // The platform may have moved to other ports since.
    this.#token =
      verdict === undefined || 'refused' in verdict
        ? (await this.#make()).token
        : formatToken(issuer.location, verdict.key.id, parseToken(current!)!.secret)
    return this.#token
  }

  /** Gives a key of the operator that was narrowed all rights again; makes another one where the token is not valid. */
  async recover(current: string | undefined): Promise<{ id: string; token: string }> {
    const { keys, kick, log } = this.#options
    const verdict = current === undefined ? undefined : await this.#judge(current)
    if (verdict === undefined || 'refused' in verdict || !isOperators(verdict.key)) {
      const { key, token } = await this.#make()
      this.#token = token
      return { id: key.id, token }
    }
    const { id } = verdict.key
    await keys.update(id, (key) => ({ ...key, ...operatorRights }))
    await this.#record(keyContracts.update.subject, verdict.key)
    log.warn({ key: id }, 'All permissions of the local operator key were restored.')
    // A connection keeps what it could do when it was opened.
    await kick(id)
    return { id, token: current! }
  }

  /** A token that was replaced ends soon, and makes no keys until then: not one to hand to the operator. */
  async #judge(token: string): Promise<Judged | { refused: string }> {
    const { keys, issuer } = this.#options
    const found = await judge(keys, { instance: issuer.location.instance, salt: issuer.salt }, token)
    return 'isReplaced' in found && found.isReplaced ? { refused: 'its key was rotated' } : found
  }

  async #make(): Promise<{ key: StoredKey; token: string }> {
    const { keys, issuer, log } = this.#options
    const made = await issueKey(keys, issuer, {
      name: 'local operator',
      notes: 'Created for the operator of the platform on its own host',
      owner: localOperator,
      kind: 'key',
      ...operatorRights,
    })
    await this.#record(keyContracts.create.subject, made.key)
    log.info({ key: made.key.id }, 'Created the local operator key.')
    return made
  }

  async #record(what: string, { id, owner }: Pick<Key, 'id' | 'owner'>): Promise<void> {
    await this.#options.trail.append({
      time: new Date().toISOString(),
      kind: 'platform',
      user: owner,
      what,
      object: id,
      result: 'ok',
    })
  }
}

const isOperators = ({ owner, kind }: StoredKey): boolean => owner === localOperator && kind === 'key'
