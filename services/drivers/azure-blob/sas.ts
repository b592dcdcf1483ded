import { notAccepted } from '../../../subjects/kit/errors.ts'
import type { BlobAnswer } from './errors.ts'
import type { Authorizer, SourceAccess } from './signing.ts'

/** Names of the parameters of signatures, of which new ones come with new versions. */
const parameterName = /^(?:s[a-z]{1,6}|rsc[cdelt])$/

/**
 * What a target asks for, and a source: Get and Put Blob, Delete Blob and List Blobs; with a queue Get Messages, Update and
 * Delete Message as well.
 */
const permissions = { target: 'rwdl', source: 'rl', queue: 'rlup' }

/** What a signature is for. */
type Scope = 'account' | 'container' | 'directory'

/**
 * Lets requests in by a shared access signature, which goes into the query of each. It says by itself what it is for and
 * until when; the service alone knows whether it is right.
 */
export class SharedAccessSignature implements Authorizer {
  readonly query: string
  readonly scope: Scope
  readonly #parameters: ReadonlyMap<string, string>

  /**
   * Throws GantryError NOT_ACCEPTED for what is no such signature, or one that cannot be used here.
   * @param directory root of the filesystem in the container; empty for the container
   */
  constructor(text: string, { directory, insecure }: { directory: string; insecure: boolean }) {
    // Who copies one out of a program that decoded it gets a plus sign in it, which a query has for a blank.
    this.query = text.replace(/^\?/, '').replaceAll('+', '%2B')
    const parameters = [...new URLSearchParams(this.query)]
    this.#parameters = new Map(parameters)
    const names = parameters.map(([name]) => name)
    if (!names.every((name) => parameterName.test(name)))
      throw notAccepted(
        'sasToken',
        'has parameters that are none of a SAS: give what follows the question mark',
      )
    if (this.#parameters.size < names.length) throw notAccepted('sasToken', 'has a parameter twice')
    for (const name of ['sv', 'sig'])
      if (this.#of(name) === '')
        throw notAccepted('sasToken', `has no ${name}: it is no SAS, or not all of it`)
    if (this.#of('se') === '' && this.#of('si') === '')
      throw notAccepted('sasToken', 'has no time at which it ends (se), and no access policy (si)')
    this.scope = this.#readScope(directory)
    if (insecure && this.#of('spr') === 'https')
      throw notAccepted('sasToken', 'is for https alone (spr): take insecure out')
  }

  /** Throws where it is not for the container, or not for the directory. */
  #readScope(directory: string): Scope {
    const [services, types, resource] = [this.#of('ss'), this.#of('srt'), this.#of('sr')]
    if (services !== '' || types !== '') {
      if (!services.includes('b')) throw notAccepted('sasToken', 'is not for the Blob service (ss without b)')
      if (!types.includes('c') || !types.includes('o'))
        throw notAccepted('sasToken', 'is not for containers and their blobs (srt without c and o)')
      return 'account'
    }
    if (resource === 'c') return 'container'
    if (resource !== 'd')
      throw notAccepted(
        'sasToken',
        'is for a single blob: give that of a container or directory (sr=c, sr=d)',
      )
    const depth = directory === '' ? 0 : directory.split('/').length
    if (Number(this.#of('sdd')) !== depth)
      throw notAccepted(
        'directory',
        `must be the one that the SAS is for, ${this.#of('sdd')} levels deep (sdd)`,
      )
    return 'directory'
  }

  sourceAccess(): SourceAccess {
    return { query: this.query }
  }

  /** Throws GantryError NOT_ACCEPTED where an option needs more of the account than its container. */
  requireAccount(option: string): void {
    if (this.scope !== 'account')
      throw notAccepted(
        'sasToken',
        `is for the container alone: ${option} needs the SAS of an account (ss=b, srt=co, sp=${permissions.source})`,
      )
  }

  /** Throws GantryError NOT_ACCEPTED where it lets nobody read queues of the account. */
  requireQueues(): void {
    const need = 'eventQueue needs the SAS of an account, for queues and their messages, too'
    if (this.scope !== 'account' || !this.#of('ss').includes('q'))
      throw notAccepted(
        'sasToken',
        `is not for the Queue service: ${need} (ss=bq, srt=co, sp=${permissions.queue})`,
      )
  }

  /** Why the service refused a request, and what to do, as far as the signature tells. */
  refusal({ status, code = '', headers }: BlobAnswer): string | undefined {
    if (status !== 401 && status !== 403) return undefined
    const another = 'give another sasToken'
    const storeMs = Date.parse(headers.date ?? '')
    const nowMs = Number.isNaN(storeMs) ? Date.now() : storeMs
    const [from, until] = [this.#of('st'), this.#of('se')]
    if (Date.parse(until) <= nowMs) return `the SAS ended at ${until}: ${another}`
    if (Date.parse(from) > nowMs) return `the SAS begins at ${from}: wait, or ${another}`
    switch (code) {
      case 'AuthorizationPermissionMismatch':
        return `the SAS allows sp=${this.#of('sp')}, a source needs ${permissions.source} and a target ${permissions.target}, with eventQueue ${permissions.queue}: ${another}`
      case 'AuthorizationResourceTypeMismatch':
        return `the SAS allows srt=${this.#of('srt')}, and co is needed: ${another}`
      case 'AuthorizationProtocolMismatch':
        return `the SAS is for spr=${this.#of('spr')}: take insecure out, or ${another}`
      case 'AuthorizationSourceIPMismatch':
        return `the SAS is for requests from ${this.#of('sip')}: ${another}`
      default:
        return undefined
    }
  }

  /** Decoded, empty where it is not there. */
  #of(name: string): string {
    return this.#parameters.get(name) ?? ''
  }
}
