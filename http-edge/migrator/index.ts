import { openApiDocument } from '../../subjects/documents/openapi.ts'
import { contracts } from '../../subjects/index.ts'
import { httpServers } from '../../subjects/kit/names.ts'
import { byCredentials, byTokenOrLocalHost } from '../callers/authority.ts'
import { openApiPath } from '../documents/docs.ts'
import { contractRoutes, nativeErrors } from '../platform/index.ts'
import { addBodyParsers } from '../platform/input.ts'
import type { ServerDefinition } from '../server/definition.ts'

/** The interface of the existing product. */
export const migratorServer: ServerDefinition = {
  name: 'migrator',
  authority: ({ pool, operatorToken, credentialConnection, marks }) =>
    credentialConnection === undefined
      ? byTokenOrLocalHost(pool, () => pool.get(operatorToken()))
      : byCredentials(pool, credentialConnection, marks),
  challenges: ({ credentialConnection }) =>
    credentialConnection === undefined
      ? ['Bearer']
      : ['Basic realm="Gantry migrator", charset="UTF-8"', 'Bearer'],
  codec: { addBodyParsers, routes: () => contractRoutes('migrator') },
  errors: nativeErrors,
  documents: { [openApiPath]: (about) => openApiDocument('migrator', contracts, about) },
  addPages: (app) => {
    app.get('/', (_, reply) => reply.redirect(httpServers.migrator.docsPath))
  },
}
