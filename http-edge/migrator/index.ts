import { httpServers } from '../../subjects/kit/names.ts'
import { byCredentials, byTokenOrThisHost, challengesOf } from '../callers/authority.ts'
import { openApiPath } from '../documents/docs.ts'
import type { ServerDefinition } from '../server/definition.ts'
import { surfaceDocument } from '../surface/document.ts'
import { addBodyParsers, warningHeader } from '../surface/input.ts'
import { addMissing, type Surface, surfaceRoutes } from '../surface/surface.ts'
import { absentFields } from './absent-fields.ts'
import { migratorErrors, wireErrorFormat } from './errors.ts'
import { namingMigrations } from './internal-ids.ts'
import { notBuilt } from './not-built.ts'
import type { MigratorOperation } from './operation.ts'
import { operations } from './operations.ts'

const surface: Surface<MigratorOperation> = {
  name: 'migrator',
  operations,
  description:
    'API of the migrator for compatibility with existing programs. For new programs, use /api/v1 of the platform.',
  errors: wireErrorFormat,
  absentFields,
  before: ({ takesInternalIds }) => (takesInternalIds ? namingMigrations : undefined),
}

/** The interface that programs of others know: their paths, names, statuses and forms, over contracts of ours. */
export const migratorServer: ServerDefinition = {
  name: 'migrator',
  authority: (edge) => (edge.migratorAsksWho ? byCredentials(edge, 'migrator') : byTokenOrThisHost(edge)),
  challenges: ({ migratorAsksWho }) => challengesOf('migrator', migratorAsksWho),
  codec: { addBodyParsers, routes: () => surfaceRoutes(surface) },
  errors: migratorErrors,
  documents: {
    [openApiPath]: (about) => surfaceDocument(surface, about),
    // Where clients of that interface look for it.
    '/v3/api-docs': (about) => surfaceDocument(surface, about),
  },
  addHeaders: (request, reply) => {
    const warnings = warningHeader(request)
    if (warnings !== undefined) reply.header('warning', warnings)
  },
  addPages: (app) => {
    addMissing(app, notBuilt, migratorErrors.unknownPath)
    app.get('/', (_, reply) => reply.redirect(httpServers.migrator.docsPath))
  },
}
