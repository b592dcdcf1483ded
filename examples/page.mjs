/**
 * A page that is an extension while it is open, with nothing but the package `nats.ws`: `node examples/page.mjs`, then
 * open the address that it says. `allowed_origins` in messaging.config must name that address.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const port = Number(process.env.PORT ?? 8090)
const read = (path) => readFileSync(new URL(path, import.meta.url))
const files = {
  '/': ['text/html', read('page/index.html')],
  '/page.js': ['text/javascript', read('page/page.js')],
  '/nats.js': ['text/javascript', read('../node_modules/nats.ws/esm/nats.js')],
}

createServer(({ url }, response) => {
  const [type, content] = files[url] ?? ['text/plain', 'There is no such page.']
  response.writeHead(url in files ? 200 : 404, { 'content-type': `${type}; charset=utf-8` }).end(content)
}).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}`))
