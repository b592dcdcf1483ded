import { inboxRoot } from './names.ts'

/** 32 characters, one for 5 bits of a byte, that stand in any subject, name, id and header. */
const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'
/** 130 bits: nobody finds one of these by trying. */
const length = 26
/** The system is asked for so many at once, as each question costs as much as ten of them. */
const atOnce = 128

const bytes = new Uint8Array(length * atOnce)
let used = bytes.length

/**
 * A text that nobody can guess, however many others they have seen. `Math.random()` and the ids of NATS clients (`nuid`)
 * are no such texts: from a few of them all others can be computed.
 */
export function unguessable(): string {
  if (used === bytes.length) {
    crypto.getRandomValues(bytes)
    used = 0
  }
  let text = ''
  for (const end = used + length; used < end; used++) text += alphabet[bytes[used]! & 31]!
  return text
}

/** A subject for replies that only its owner knows. */
export const createInbox = (prefix: string = inboxRoot): string => `${prefix}.${unguessable()}`

/** By what a connection of nats-core knows the replies to its requests (its `MuxSubscription`). */
interface Replies {
  baseInbox: string
  add(request: { token: string }): void
}

/**
 * That class, with reply subjects that nobody can guess. Its own are made with `Math.random()`, so that whoever answers a
 * few requests can foretell the reply subjects of the next ones, and answer those in place of the service that is asked.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- TypeScript demands it of a class that is to be extended
export const withSecretReplies = <C extends new (...given: any[]) => Replies>(Base: C) =>
  class extends Base {
    init(prefix?: string): string {
      return (this.baseInbox = `${createInbox(prefix)}.`)
    }

    override add(request: { token: string }): void {
      request.token = unguessable()
      super.add(request)
    }
  }
