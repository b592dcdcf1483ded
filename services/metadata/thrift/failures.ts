import { MalformedThrift } from './scanner.ts'

/** The server threw one of the exceptions of the interface definition. */
export class ThriftException extends Error {
  override readonly name: string

  constructor(name: string, message: string) {
    super(message)
    this.name = name
  }
}

/** The server cannot answer such a call at all; `isUnknownMethod` where it has no such function. */
export class ThriftRefusal extends Error {
  readonly isUnknownMethod: boolean

  constructor(message: string, isUnknownMethod: boolean) {
    super(message)
    this.isUnknownMethod = isUnknownMethod
  }
}

/** The network, or the server's process: what was asked may have been done, or not. */
export class ThriftBroken extends Error {
  readonly code: string | undefined

  constructor(message: string, cause?: unknown) {
    super(message, { cause })
    this.code = (cause as NodeJS.ErrnoException | undefined)?.code
  }
}

/** The server does not take who asks, or how that was said. */
export class ThriftUnwelcome extends Error {}

/** An answer is longer than what is read. */
export class ReplyTooLong extends MalformedThrift {}
