import { asyncApiDocument } from '../../subjects/documents/asyncapi.ts'
import { catalogue } from '../../subjects/documents/catalogue.ts'
import { openApiDocument } from '../../subjects/documents/openapi.ts'
import { contracts, eventContracts } from '../../subjects/index.ts'
import { observability } from '../../subjects/observability/observability.ts'
import { byTokenOrLocalHost, byTokenOrSession } from '../callers/authority.ts'
import { addSignIn } from '../callers/sign-in.ts'
import { openApiPath } from '../documents/docs.ts'
import { addLiveDocuments, liveOpenApiPath } from '../documents/live-documents.ts'
import { addExtensionRoutes } from '../extensions/extensions.ts'
import type { Route, ServerDefinition } from '../server/definition.ts'
import { nativeErrors } from '../server/native-errors.ts'
import { addBodyParsers, inputReader } from './input.ts'
import { addUi } from './ui.ts'

/** Where the metrics are. */
const metricsPaths = observability.prometheus.http.map(({ path }) => path)

/** Routes of contracts, as these say. */
const contractRoutes = (): Route[] =>
  contracts.flatMap((calls) =>
    calls.http.map((route) => ({ ...route, calls, read: inputReader(calls, route) })),
  )

/** The platform's own API, under `/api/v1`, with the sign-in of browsers and the endpoints of extensions. */
export const platformServer: ServerDefinition = {
  name: 'platform',
  authority: ({ pool, sessions }) => byTokenOrSession(pool, sessions),
  ownAuthorities: (edge) => {
    const local = byTokenOrLocalHost(edge)
    return new Map(edge.metricsAccess === 'key' ? [] : metricsPaths.map((path) => [path, local]))
  },
  challenges: () => ['Bearer'],
  codec: { addBodyParsers, routes: contractRoutes },
  errors: nativeErrors,
  documents: {
    [openApiPath]: (about) => openApiDocument(contracts, about),
    '/asyncapi.json': (about) => asyncApiDocument(contracts, eventContracts, about),
    '/catalogue.json': (about) => catalogue(contracts, eventContracts, about),
  },
  openApiForCallers: liveOpenApiPath,
  addPages: async (app, edge, authority) => {
    await addSignIn(app, edge)
    if (edge.uiFolder !== undefined) await addUi(app, edge.uiFolder, edge.websocketUrl)
    const { lookupConnection: lookup, onExtensionsChange: onChange } = edge
    addExtensionRoutes(app, { ...edge, authority, lookup, onChange })
    addLiveDocuments(app, { ...edge, authority, lookup })
  },
}
