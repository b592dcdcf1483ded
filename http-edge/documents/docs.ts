import { createReadStream, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { httpServers } from '../../subjects/kit/names.ts'
import type { ServerDefinition } from '../server/definition.ts'

const swaggerFolder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
const assetsPath = '/docs-assets'
/** Where every server has the document of its API. */
export const openApiPath = '/openapi.json'

/** Everything that the page needs comes from this server: it works without internet, and runs no script of others. */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'"

const assets: Record<string, string> = {
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
  'favicon-32x32.png': 'image/png',
}

/** Whether a route has a part of the page: what it loads, and the document that it shows. */
export const isOfDocs = (route: string | undefined): boolean =>
  route === openApiPath || route?.startsWith(`${assetsPath}/`) === true

/** Adds the interactive reference of a server, the documents that it is made from, and nothing that needs a token. */
export function addDocs(
  app: FastifyInstance,
  { name, documents, openApiForCallers }: Pick<ServerDefinition, 'name' | 'documents' | 'openApiForCallers'>,
  { version }: { version: string },
): void {
  const { title, docsPath } = httpServers[name]
  for (const [path, make] of Object.entries(documents)) {
    // Made for the first who asks, and kept as bytes: most platforms are never asked, and a megabyte of JSON takes 10 ms to write.
    let document: Buffer | undefined
    app.get(path, (_, reply) =>
      reply
        .type('application/json; charset=utf-8')
        .send((document ??= Buffer.from(JSON.stringify(make({ version }))))),
    )
  }
  const html = page(title, openApiForCallers)
  const sendPage = { type: 'text/html; charset=utf-8' }
  app.get(docsPath, (_, reply) =>
    reply.type(sendPage.type).header('content-security-policy', contentSecurityPolicy).send(html),
  )
  for (const [file, type] of Object.entries(assets)) {
    app.get(`${assetsPath}/${file}`, (_, reply) =>
      reply
        .type(type)
        .header('cache-control', 'max-age=86400')
        .send(createReadStream(join(swaggerFolder, file))),
    )
  }
  app.get(`${assetsPath}/start.js`, (_, reply) =>
    reply.type('text/javascript; charset=utf-8').send(startScript),
  )
}

const page = (title: string, forCallers: string | undefined): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} API</title>
<link rel="icon" type="image/png" href="${assetsPath}/favicon-32x32.png">
<link rel="stylesheet" href="${assetsPath}/swagger-ui.css">
</head>
<body>
<div id="reference" data-all="${openApiPath}"${forCallers === undefined ? '' : ` data-seen="${forCallers}"`}></div>
<script src="${assetsPath}/swagger-ui-bundle.js"></script>
<script type="module" src="${assetsPath}/start.js"></script>
</body>
</html>
`

const startScript = readFileSync(new URL('reference.js', import.meta.url), 'utf8')
