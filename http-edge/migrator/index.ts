import type { FastifyInstance } from 'fastify'
import { httpServers } from '../../subjects/kit/names.ts'
import { byCredentials, byTokenOrLocalHost } from '../callers/authority.ts'
import { openApiPath } from '../documents/docs.ts'
import type { Route, ServerDefinition } from '../server/definition.ts'
import { migratorDocument } from './document.ts'
import { migratorErrors } from './errors.ts'
import { addBodyParsers, lenientReader, warningHeader } from './input.ts'
import { namingMigrations } from './internal-ids.ts'
import { pathOf } from '../server/failures.ts'
import { notBuilt } from './not-built.ts'
import type { Operation } from './operation.ts'
import { operations } from './operations.ts'
import { filler, wholeSchema } from './reply.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation
  }
}

/** Existing clients are read by people too, who see replies in a terminal. */
const indent = 2

function routeOf(operation: Operation): Route {
  const { method, path, status, calls, takesInternalIds, translate } = operation
  const read = lenientReader(operation)
  const fill = filler(wholeSchema(operation.reply)) ?? ((value: unknown) => value)
  const answer = translate.reply as ((native: unknown) => unknown) | undefined
  const { download } = translate
  return {
    method,
    path,
    status,
    calls,
    config: { operation },
    ...(operation.public === undefined ? {} : { public: operation.public }),
    ...(operation.conditional === undefined ? {} : { conditional: operation.conditional }),
    read,
    ...(takesInternalIds ? { before: namingMigrations } : {}),
    write: (data) => {
      const native: unknown = JSON.parse(Buffer.from(data).toString())
      return JSON.stringify(fill(answer === undefined ? native : answer(native)), null, indent)
    },
    ...(download === undefined ? {} : { download: (part, request) => download(part, read(request)) }),
  }
}

/** Other routes take some of these paths for the name of an object, which is then not there. */
function addMissing(app: FastifyInstance, each: string): void {
  const [method = '', path = ''] = each.split(' ')
  app.route({
    method,
    url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
    config: { isMissing: true },
    onRequest: (request, _, done) => done(migratorErrors.unknownPath(method, pathOf(request))),
    handler: () => undefined,
  })
}

/** The interface that programs of others know: their paths, names, statuses and forms, over contracts of ours. */
export const migratorServer: ServerDefinition = {
  name: 'migrator',
  authority: ({ pool, operatorToken, credentialConnection, marks }) =>
    credentialConnection === undefined
      ? byTokenOrLocalHost(pool, () => pool.get(operatorToken()), { ignoresPasswords: true })
      : byCredentials(pool, credentialConnection, marks),
  challenges: ({ credentialConnection }) =>
    credentialConnection === undefined
      ? ['Bearer']
      : ['Basic realm="Gantry migrator", charset="UTF-8"', 'Bearer'],
  codec: { addBodyParsers, routes: () => operations.map(routeOf) },
  errors: migratorErrors,
  documents: {
    [openApiPath]: (about) => migratorDocument(operations, about),
    // Where clients of that interface look for it.
    '/v3/api-docs': (about) => migratorDocument(operations, about),
  },
  addHeaders: (request, reply) => {
    const warnings = warningHeader(request)
    if (warnings !== undefined) reply.header('warning', warnings)
  },
  addPages: (app) => {
    for (const each of notBuilt) addMissing(app, each)
    app.get('/', (_, reply) => reply.redirect(httpServers.migrator.docsPath))
  },
}
