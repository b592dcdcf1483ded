import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { GantryError } from '../../subjects/kit/errors.ts'
import { uiPath } from '../../subjects/kit/names.ts'

const firstFile = 'index.html'

/**
 * Scripts come from this server alone, and it talks to this server and its broker. Styles may be in the page: components
 * place themselves so.
 */
const policyFor = (websocketUrl: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    `connect-src 'self' ${websocketUrl}`,
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ')

/** Names of files that change with what is in them. */
const isLasting = (file: string): boolean => file.includes('/assets/')
const yearSeconds = 365 * 24 * 3_600

/** Serves the web interface: its files, and its first page for each of its own addresses. @param folder as it was built */
export async function addUi(app: FastifyInstance, folder: string, websocketUrl: string): Promise<void> {
  const policy = policyFor(websocketUrl)
  const sendPage = (reply: FastifyReply) =>
    reply.header('content-security-policy', policy).sendFile(firstFile)
  await app.register(fastifyStatic, {
    root: folder,
    serve: false,
    preCompressed: true,
    cacheControl: false,
    setHeaders: (reply, file) => {
      if (isLasting(file)) reply.header('cache-control', `public, max-age=${yearSeconds}, immutable`)
    },
  })
  const files = new Set(readdirSync(join(folder, 'assets')))
  app.get(`${uiPath}/assets/:file`, (request, reply) => {
    const { file } = request.params as { readonly file: string }
    if (files.has(file)) return reply.sendFile(`assets/${file}`)
    throw new GantryError('NOT_FOUND', `the web interface has no file ${file}: reload the page`)
  })
  app.get(uiPath, (_, reply) => sendPage(reply))
  app.get(`${uiPath}/*`, (_, reply) => sendPage(reply))
}
