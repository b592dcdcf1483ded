/** A message of a queue that this process has received, and not removed yet. */
export interface ReceivedMessage {
  /** When it was sent, in milliseconds since 1970. */
  readonly sentMs: number
  /** What the queue needs to find it; may change when it is hidden again. */
  readonly receipt: string
}

/** One that has just come. */
export interface QueueMessage extends ReceivedMessage {
  readonly body: string
}

/**
 * A queue of a cloud into which a store puts notifications: whoever receives a message hides it from others for a while, and
 * removes it when its work is done; else it comes again. Every operation that fails throws a StoreError.
 */
export interface MessageQueue {
  /** For people, such as `the queue changes (SQS)`. */
  readonly name: string
  /** For so long a message is hidden when it is received, and when it is hidden again. */
  readonly hiddenMs: number
  /**
   * Which queue it is: `stream` is another one for another queue of the same name, `keepsMs` how long it keeps a message that
   * nobody removes. Throws `gone` without such a queue, `refused` where its messages may not be read.
   */
  identify(signal: AbortSignal): Promise<{ readonly stream: string; readonly keepsMs: number }>
  /** Waits for messages for some seconds, then answers with none. */
  receive(signal: AbortSignal): Promise<readonly QueueMessage[]>
  remove(messages: readonly ReceivedMessage[]): Promise<void>
  /**
   * Hides them for `hiddenMs` from now on. Returns them in the same order with the receipts that hold from then on; undefined
   * in the place of one that is no longer there, or could not be hidden.
   */
  hide(messages: readonly ReceivedMessage[]): Promise<readonly (ReceivedMessage | undefined)[]>
  close(): void
}

/** What a message says: objects that were written or removed, each in a bucket or container. */
export interface Notice {
  readonly bucket: string
  /** As latin1, a character a byte. */
  readonly key: string
  /** Whether it is a folder that may have come or gone with all that is below it; of the key '' all there is. */
  readonly isTree?: boolean
  /** Milliseconds since 1970. */
  readonly timeMs: number
}

/** So long after a change its notification is in a queue or topic: within seconds, says S3, and at times a minute or longer. */
export const deliveryMs = 60_000

/** What nobody understands may be a change: everything is compared for it, but no more often than this. */
export const misreadMs = 3_600_000
