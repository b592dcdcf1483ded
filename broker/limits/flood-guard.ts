import type { MsgImpl } from '@nats-io/nats-core/internal'
import type { Msg } from '@nats-io/transport-node'
import { LRUCache } from 'lru-cache'
import type { ClientConnection } from '../../subjects/kit/contract.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import { edgeUser } from '../../subjects/kit/names.ts'
import { Allowance, maxRemembered, type Rate } from './allowances.ts'
import { requestInfo, userOf } from '../messages/caller.ts'
import { type AddressMarks, originOfConnection } from '../messages/client-address.ts'
import type { Log } from '../common/log.ts'

/**
 * Requests of a key. The whole platform answers some 15,000 a second over REST and 30,000 over NATS, so that nobody who
 * waits for answers sends more; the burst is what a second of a busy machine leaves behind.
 */
export const requestRate: Rate = { burst: 20_000, refillPerSecond: 20_000 }
/**
 * Bytes of a key: the whole storage of an extension at once. A mebibyte of JSON takes the services some 10 ms, so that what
 * goes on leaves most of their time to others.
 */
export const byteRate: Rate = { burst: 64 * 2 ** 20, refillPerSecond: 16 * 2 ** 20 }
/** What all keys of an owner may send together, in the allowances of one: an owner may have thousands of keys. */
const timesOfOwner = 2
/**
 * Bytes of an answer that cost nothing: a page of a usual list, and the largest value of an extension's storage. Of what is
 * beyond, a part counts among the bytes of who asked: so much that nobody who reads one large page after the other is held
 * up, and those are who ask for many at once.
 */
export const freeReplyBytes = 512 * 2 ** 10
const shareOfReply = 1 / 4
/**
 * Processor time of a mebibyte of usual JSON, which its bytes pay for. A mebibyte of unknown fields takes ten times as long:
 * what is beyond is charged in bytes, so that a key takes a quarter of a processor and no more, however it fills its bytes.
 */
const freeMsOfMib = 10
const bytesOfMs = byteRate.refillPerSecond / 250
/** Smaller inputs take a millisecond, whatever is in them, and are not measured. */
export const measuredBytes = 16 * 2 ** 10
/** Who has gone so far beyond a burst, refused all the way, does not wait for answers. */
const patienceShare = 1 / 4
/**
 * Messages of a key in one turn of the event loop. Who waits for answers has fewer under way; who does not brings 3,000, as
 * many as one turn reads, also where the machine is too slow for the rates above to be reached.
 */
const mostInTurn = 512
/** The same of an owner: a thousand extensions of one owner may each have a few under way. */
const mostInTurnOfOwner = 2_048
/** How often each message beyond that counts, and each while more has come for a service than it keeps up with. */
const weightOfMany = 20
/** How long a key that was dropped stays out: what it has sent is worked off by then. */
export const outMs = 10_000

/** A key whose connection was dropped because it flooded the services. */
export interface Flood {
  readonly keyId: string
  /** Address of the client. */
  readonly from: string | undefined
  readonly reason: string
}

/** What is to be done with a message: answer it, refuse it, or not even that. */
export type Verdict = 'answer' | 'refuse' | 'drop'

/** What a key, or all keys of an owner, may send. */
class Purse {
  readonly #requests: Allowance
  readonly #bytes: Allowance
  readonly #patience: { readonly requests: number; readonly bytes: number }
  readonly #mostInTurn: number
  /** Messages in a turn of the event loop, and in which. */
  #inTurn = 0
  #turn = -1

  constructor(times: number, inTurn: number) {
    const [requests, bytes] = [requestRate, byteRate].map(({ burst, refillPerSecond }) => ({
      burst: times * burst,
      refillPerSecond: times * refillPerSecond,
    })) as [Rate, Rate]
    this.#patience = { requests: requests.burst * patienceShare, bytes: bytes.burst * patienceShare }
    this.#requests = new Allowance(requests, 2 * this.#patience.requests)
    this.#bytes = new Allowance(bytes, 2 * this.#patience.bytes)
    this.#mostInTurn = inTurn
  }

  /** Counts messages in this turn. @returns whether these are more than somebody sends who waits for answers */
  isMany(turn: number, count: number): boolean {
    if (this.#turn !== turn) {
      this.#turn = turn
      this.#inTurn = 0
    }
    this.#inTurn += count
    return this.#inTurn > this.#mostInTurn
  }

  charge(requestCount: number, byteCount: number): Verdict {
    const requests = this.#requests.charge(requestCount)
    const bytes = this.#bytes.charge(byteCount)
    if (requests >= 0 && bytes >= 0) return 'answer'
    return requests > -this.#patience.requests && bytes > -this.#patience.bytes ? 'refuse' : 'drop'
  }
}

interface Sender {
  readonly own: Purse
  /** Shared by all keys of the owner; undefined for a key that nobody has connected with lately. */
  ofOwner: Purse | undefined
  /** Connections that have sent too much, and whether each is the edge's. */
  readonly impatient: Map<string, boolean>
  /** Of `performance.now()`. */
  outUntilMs: number
}

export interface FloodGuardOptions {
  readonly marks: AddressMarks
  /** Closes a connection. */
  readonly disconnect: (connection: ClientConnection) => void
  /** Is told once for each time that a key is kept out. */
  readonly onFlood: (flood: Flood) => void
  readonly log: Log
}

/**
 * Looks at each message to the services before anything of it is parsed, and counts it for the key that nats-server says
 * it is of. Who sends more than it may is refused; who does not heed that loses its connections and is kept out for a
 * while. What comes over the edge is refused alike, but the edge keeps its connections: others may wait there.
 */
export class FloodGuard {
  readonly #options: FloodGuardOptions
  readonly #senders = new LRUCache<string, Sender>({ max: maxRemembered })
  readonly #owners = new LRUCache<string, Purse>({ max: maxRemembered })
  /** Of keys that are connected still and were forgotten: nobody knows whose they are. */
  readonly #ofForgotten = new Purse(timesOfOwner, mostInTurnOfOwner)
  /** Whether more has come for a service than it keeps up with, so that each message counts for several. */
  isBehind = false
  #turn = 0
  #isTurning = false

  constructor(options: FloodGuardOptions) {
    this.#options = options
  }

  /** Whether a key is kept out, having flooded a moment ago. */
  isOut(keyId: string): boolean {
    const sender = this.#senders.get(keyId)
    return sender !== undefined && performance.now() < sender.outUntilMs
  }

  /** Takes note of whose a key is that somebody connects with. */
  belongs(keyId: string, owner: string): void {
    let purse = this.#owners.get(owner)
    if (purse === undefined) {
      purse = new Purse(timesOfOwner, mostInTurnOfOwner)
      this.#owners.set(owner, purse)
    }
    this.#senderOf(keyId).ofOwner = purse
  }

  /** @param answers how many it would get */
  judge(message: Msg, answers = 1): Verdict {
    const user = userOf(message)
    // The platform itself, and the edge for those who have no key.
    if (user === undefined || user === edgeUser) return 'answer'
    const sender = this.#senderOf(user)
    const { own, ofOwner } = sender
    this.#passTurn()
    const byteCount = (message as MsgImpl).size()
    const weight = own.isMany(this.#turn, answers) || this.isBehind ? weightOfMany : 1
    const verdict = own.charge(weight * answers, weight * byteCount)
    // What is refused because of its key costs the other keys of its owner nothing.
    if (ofOwner === undefined || verdict !== 'answer')
      return verdict === 'drop' ? this.#keepOut(sender, user, message) : verdict
    const weightOfOwner = ofOwner.isMany(this.#turn, answers) ? weightOfMany : 1
    const ofAll = ofOwner.charge(weightOfOwner * answers, weightOfOwner * byteCount)
    return ofAll === 'drop' ? this.#keepOut(sender, user, message) : ofAll
  }

  /** Counts a large answer for who asked. */
  answered(message: Msg, byteCount: number): void {
    if (byteCount <= freeReplyBytes) return
    const user = userOf(message)
    if (user === undefined || user === edgeUser) return
    this.#chargeBytes(user, (byteCount - freeReplyBytes) * shareOfReply)
  }

  /** Counts the processor time that an input took to read and to check, for who sent it. */
  took(message: Msg, ms: number): void {
    const beyondMs = ms - (message.data.length / 2 ** 20) * freeMsOfMib
    const user = beyondMs > 1 ? userOf(message) : undefined
    if (user !== undefined && user !== edgeUser) this.spent(user, beyondMs)
  }

  /** Counts processor time for a key that no bytes have paid for. */
  spent(keyId: string, ms: number): void {
    this.#chargeBytes(keyId, ms * bytesOfMs)
  }

  /** Whether a key, or its owner, has spent more than it may: it is refused without a look at what it sends. */
  owes(keyId: string): boolean {
    return this.#chargeBytes(keyId, 0) !== 'answer'
  }

  #chargeBytes(keyId: string, byteCount: number): Verdict {
    const { own, ofOwner } = this.#senderOf(keyId)
    const ofAll = ofOwner?.charge(0, byteCount) ?? 'answer'
    const verdict = own.charge(0, byteCount)
    return verdict === 'answer' ? ofAll : verdict
  }

  #senderOf(keyId: string): Sender {
    let sender = this.#senders.get(keyId)
    if (sender === undefined) {
      sender = {
        own: new Purse(1, mostInTurn),
        ofOwner: this.#ofForgotten,
        impatient: new Map(),
        outUntilMs: 0,
      }
      this.#senders.set(keyId, sender)
    }
    return sender
  }

  #passTurn(): void {
    if (this.#isTurning) return
    this.#isTurning = true
    setImmediate(() => {
      this.#isTurning = false
      this.#turn += 1
    })
  }

  #keepOut(sender: Sender, keyId: string, message: Msg): Verdict {
    const { impatient } = sender
    const info = JSON.parse(requestInfo(message)!) as Info
    const name = `${info.server} ${info.id}`
    const known = impatient.get(name)
    if (known !== undefined) return known ? 'refuse' : 'drop'
    const { marks, disconnect, onFlood, log } = this.#options
    const { address, isEdge } = originOfConnection(marks, { ...info, keyId })
    const now = performance.now()
    if (now >= sender.outUntilMs) {
      impatient.clear()
      sender.outUntilMs = now + outMs
      onFlood({ keyId, from: address, reason: tooMuch })
      log.warn({ key: keyId, from: address }, 'A key floods the services and is blocked temporarily.')
    }
    impatient.set(name, isEdge)
    if (isEdge) return 'refuse'
    disconnect({ server: info.server, id: info.id, started: info.start })
    return 'drop'
  }
}

/** What nats-server says of the connection of a request. */
interface Info {
  readonly server: string
  readonly id: number
  readonly start: string
  readonly host?: string
  readonly name?: string
}

const tooMuch = `more than ${requestRate.refillPerSecond} requests or ${byteRate.refillPerSecond / 2 ** 20} MiB per second`

/** What somebody hears who sends too much. */
export const throttled = (): GantryError =>
  new GantryError(
    'THROTTLED',
    `this key sends ${tooMuch}, or all keys of its owner together send ${timesOfOwner} times as much: wait for replies and send less`,
  )
