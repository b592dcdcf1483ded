import { errors, GantryError } from '../../subjects/kit/errors.ts'
import { ErrorSchema } from '../../subjects/documents/error-schema.ts'
import { httpServers } from '../../subjects/kit/names.ts'
import { byCredentials, byTokenOrThisHost, challengesOf } from '../callers/authority.ts'
import { openApiPath } from '../documents/docs.ts'
import type { ServerDefinition } from '../server/definition.ts'
import { nativeErrors } from '../server/native-errors.ts'
import { surfaceDocument } from '../surface/document.ts'
import { addBodyParsers, warningHeader } from '../surface/input.ts'
import { addMissing, type Surface, surfaceRoutes } from '../surface/surface.ts'
import { admission } from './admission.ts'
import { operations } from './operations.ts'

const surface: Surface = {
  name: 'metadata',
  operations,
  description:
    'API of the metadata service for compatibility with existing programs, in which a catalog is called an agent. For new programs, use /api/v1/metadata of the platform.',
  errors: {
    schema: ErrorSchema,
    wireErrorOf: (code) => ({ status: errors[code].status, errorCode: code }),
  },
  absentFields: {},
}

/** Of connectors that others listen for, which show each other certificates. */
const certificates = ['/config', '/agents/{name}'].flatMap((of) =>
  ['generate', 'upload'].map((verb) => `POST ${of}/certificates/${verb}`),
)

/** The interface to metadata that programs of others know, over contracts of ours. */
export const metadataServer: ServerDefinition = {
  name: 'metadata',
  // Whoever has closed the migrator to programs on this host must not find them let in here.
  authority: (edge) =>
    edge.metadataAccess.enabled || edge.migratorAsksWho
      ? byCredentials(edge, 'metadata')
      : byTokenOrThisHost(edge),
  admit: (edge, authority) => admission(edge.metadataAccess, authority, edge),
  challenges: ({ metadataAccess }) => challengesOf('metadata', metadataAccess.enabled),
  codec: { addBodyParsers, routes: () => surfaceRoutes(surface) },
  errors: nativeErrors,
  documents: { [openApiPath]: (about) => surfaceDocument(surface, about) },
  addHeaders: (request, reply) => {
    const warnings = warningHeader(request)
    if (warnings !== undefined) reply.header('warning', warnings)
  },
  addPages: (app) => {
    addMissing(
      app,
      certificates,
      (method, path) =>
        new GantryError(
          'UNSUPPORTED',
          `${method} ${path}: the platform issues no certificates: clients of its broker use the token of a key`,
        ),
    )
    app.get('/', (_, reply) => reply.redirect(httpServers.metadata.docsPath))
  },
}
