import type { FastifyRequest } from 'fastify'
import { isUtf8 } from 'node:buffer'
import { GantryError } from '../../subjects/kit/errors.ts'
import type { Charged } from '../callers/charging.ts'

interface Taking {
  readonly charged: Charged
  readonly parse: (body: Buffer) => unknown
  readonly done: (error: Error | null, body?: unknown) => void
}

/** Parses a body that has arrived; its caller pays for that. */
export function takeBody(request: FastifyRequest, body: Buffer, { charged, parse, done }: Taking): void {
  request.bodyBytes = body.length
  try {
    done(
      null,
      charged(request, () => parse(body)),
    )
  } catch (error) {
    done(error as Error)
  }
}

/** @throws GantryError INVALID_INPUT */
export function textOfBody(body: Buffer): string {
  if (!isUtf8(body)) throw new GantryError('INVALID_INPUT', 'input: the body is not UTF-8')
  return body.toString()
}

/** What a body of JSON says; nothing when it is empty. @throws GantryError INVALID_INPUT */
export function jsonOf(body: Buffer): unknown {
  if (body.length === 0) return undefined
  const text = textOfBody(body)
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new GantryError('INVALID_INPUT', 'input: the body is not valid JSON', { cause })
  }
}
