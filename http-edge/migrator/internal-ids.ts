import type { FastifyRequest } from 'fastify'
import { call } from '../../broker/rpc/client.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { Form } from '../surface/input.ts'

const internalId = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

type Texts = Record<string, unknown>

/**
 * Clients name a migration by its internal id as well as by its name: where one stands, it is replaced by the name. What no
 * migration has for an internal id stays, as it may be a name. Asked on the caller's connection, and not remembered: the name
 * may be another migration's tomorrow.
 */
export function namingMigrations(
  request: FastifyRequest,
  connection: NatsConnection,
): Promise<void> | undefined {
  const { body } = request
  const sent = body instanceof Form ? body.fields : body
  const places = [request.params, request.query, sent].filter(isRecord)
  const found = places.flatMap((texts) => [
    ...findIn(texts, 'migrationId', (text) => [text]),
    ...findIn(texts, 'migrationIds', (text) => text.split(',')),
  ])
  return found.length === 0 ? undefined : replaceAll(found, request.id, connection)
}

interface Found {
  readonly texts: Texts
  readonly name: string
  readonly ids: readonly string[]
}

function findIn(texts: Texts, name: string, idsOf: (text: string) => string[]): Found[] {
  const value = texts[name]
  const list = Array.isArray(value) ? value : [value]
  const ids = list.flatMap((text: unknown) => (typeof text === 'string' ? idsOf(text) : []))
  return ids.some((id) => internalId.test(id)) ? [{ texts, name, ids }] : []
}

async function replaceAll(
  found: readonly Found[],
  requestId: string,
  connection: NatsConnection,
): Promise<void> {
  await Promise.all(
    found.map(async ({ texts, name, ids }) => {
      const names = await Promise.all(ids.map((id) => nameOf(id, requestId, connection)))
      texts[name] = Array.isArray(texts[name]) || names.length > 1 ? names : names[0]
    }),
  )
}

async function nameOf(id: string, requestId: string, connection: NatsConnection): Promise<string> {
  if (!internalId.test(id)) return id
  try {
    const [migration] = await call(
      connection,
      migrations.list,
      { internalId: id.toLowerCase(), limit: 1 },
      { requestId },
    )
    return migration?.migrationId ?? id
  } catch (error) {
    // Whoever may not list migrations names them.
    if (isGantryError(error, 'DENIED')) return id
    throw error
  }
}

const isRecord = (value: unknown): value is Texts =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
