/**
 * An extension with the SDK, in Node: `GANTRY_TOKEN=… node examples/weather.ts`. It tells the weather of a city, and
 * counts in its storage and in a metric how often it was asked.
 */
import { Type } from 'typebox'
import { connect, GantryError, openStorage } from '../sdk/index.ts'

const weather = await connect({
  prefix: 'weather',
  name: 'Weather',
  version: '1.0.0',
  description: 'Forecasts',
})
const storage = openStorage(weather)
const seconds = weather.metrics.histogram('forecast.seconds', { help: 'Time that a forecast takes, s' })

weather
  .resource({
    uri: 'ui://weather/home',
    mediaType: 'text/markdown',
    content: '# Weather\n\nIt is sunny in Oslo.',
  })
  .route({ path: '/', title: 'Weather', uri: 'ui://weather/home' })
  .menu({ label: 'Weather', icon: 'sun', route: '/' })
  .endpoint(
    {
      name: 'forecast',
      summary: 'The weather of a day',
      input: Type.Object(
        { city: Type.String({ maxLength: 60, description: 'Name of the city' }) },
        { additionalProperties: false },
      ),
      output: Type.Object({ sunny: Type.Boolean(), asked: Type.Integer() }),
      errors: ['NOT_FOUND'],
      limitMs: 2_000,
    },
    async ({ city }, call) => {
      const began = performance.now()
      weather.metrics.counter('forecasts.total', { help: 'Forecasts made', labels: { city } }).add()
      if (city === 'Atlantis') call.error('NOT_FOUND', `there is no ${city}`)
      else call.respond({ sunny: city === 'Oslo', asked: await count(city) })
      seconds.observe((performance.now() - began) / 1_000)
    },
  )

await weather.ready()
console.log('weather is registered')
process.once('SIGINT', () => void weather.stop())
process.once('SIGTERM', () => void weather.stop())

/** Several instances may count at the same time: whoever comes second looks again. */
async function count(city: string): Promise<number> {
  for (;;) {
    const { value = 0, revision = 0 } = (await storage.get(city)) ?? {}
    try {
      await storage.put(city, Number(value) + 1, revision)
      return Number(value) + 1
    } catch (error) {
      if (!(error instanceof GantryError) || error.code !== 'CONFLICT') throw error
    }
  }
}
