import { connect } from '../../sdk/index.ts'

/** An extension whose calls take a while, so that some are under way when it is killed. */
const extension = await connect({ prefix: 'slow', version: '1.0.0' })
extension.endpoint({ name: 'wait', summary: 'Answers a little later', limitMs: 2_000 }, async (_, call) => {
  await new Promise((resolve) => setTimeout(resolve, 50))
  call.respond('done')
})
await extension.ready()
console.log('slow is registered')
