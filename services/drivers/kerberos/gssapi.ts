import { StoreError } from '../contract/store-error.ts'
import { contextFlags, type Credentials, mechanisms, SecurityContext } from './security-context.ts'

/** What may be done with messages from then on, each a bit (RFC 4752, 3.1), in the order in which it is wanted. */
const layers = [
  { bit: 4, flag: contextFlags.confidential, isProtected: true, isConfidential: true },
  { bit: 2, flag: contextFlags.integrity, isProtected: true, isConfidential: false },
  { bit: 1, flag: 0, isProtected: false, isConfidential: false },
] as const

const { mutual, replay, sequence, confidential, integrity } = contextFlags
const wanted = mutual | replay | sequence | confidential | integrity

/** As many bytes as can be said: servers of Thrift send messages as they are, whatever was agreed. */
const maxBytes = 0xff_ffff

const refused = (said: string) => new StoreError('refused', `Kerberos: ${said}`)

/** The client of GSSAPI (RFC 4752) of one connection. Rejects with a StoreError. */
export class GssapiSession implements Disposable {
  readonly mechanism = 'GSSAPI'
  readonly first: Buffer
  readonly #context: SecurityContext
  readonly #service: string
  #layer: (typeof layers)[number] | undefined

  private constructor(context: SecurityContext, service: string, first: Buffer) {
    this.#context = context
    this.#service = service
    this.first = first
  }

  /** @param service `service@host`, or a principal with its realm */
  static async begin(credentials: Credentials, service: string): Promise<GssapiSession> {
    const asked = { service, mechanism: mechanisms.krb5, flags: wanted }
    const [context, first] = await SecurityContext.open(credentials, asked)
    return new GssapiSession(context, service, first)
  }

  get isDone(): boolean {
    return this.#layer !== undefined
  }

  get endsAt(): number {
    return this.#context.endsAt
  }

  async answer(challenge: Buffer): Promise<Buffer> {
    if (!this.#context.isEstablished) {
      const answer = await this.#context.step(challenge)
      if (this.#context.isEstablished && (this.#context.flags & mutual) === 0)
        throw refused(`what answers does not prove that it is ${this.#service}`)
      return answer
    }
    const { message } = this.#context.unwrap(challenge)
    if (message.length !== 4) throw refused('what it offers to do with messages is no offer')
    const offered = message.readUInt8()
    const layer = layers.find(
      ({ bit, flag }) => (offered & bit) !== 0 && (this.#context.flags & flag) === flag,
    )
    if (layer === undefined)
      throw refused(
        `what ${this.#service} offers to do with messages (${offered}) cannot be done; set hadoop.rpc.protection to authentication, integrity or privacy there`,
      )
    const choice = Buffer.alloc(4)
    choice.writeUInt32BE(layer.bit * 2 ** 24 + (layer.isProtected ? maxBytes : 0))
    const answer = this.#context.wrap(choice, false)
    this.#layer = layer
    return answer
  }

  get protection(): { wrap(message: Buffer): Buffer; unwrap(message: Buffer): Buffer } | undefined {
    const layer = this.#layer
    if (layer?.isProtected !== true) return undefined
    return {
      wrap: (message) => this.#context.wrap(message, layer.isConfidential),
      unwrap: (message) => {
        const plain = this.#context.unwrap(message)
        if (layer.isConfidential && !plain.isConfidential)
          throw refused(`${this.#service} sends messages in the clear that were to be encrypted`)
        return plain.message
      },
    }
  }

  [Symbol.dispose](): void {
    this.#context[Symbol.dispose]()
  }
}
