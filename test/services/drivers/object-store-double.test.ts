import { driverConformance } from '../../conformance/driver.ts'
import { ObjectStoreDoubleDriver } from '../../support/object-store-double/driver.ts'
import { ObjectStoreDouble } from '../../support/object-store-double/store.ts'

/** What object stores have in common fits the interface, before there is a driver of a real one. */
driverConformance('the double of an object store', async () => {
  const store = new ObjectStoreDouble('conformance')
  return {
    openDriver: () => new ObjectStoreDoubleDriver({ store: store.name, bucket: 'conformance' }),
    losesAnswers: true,
    openMissing: () => new ObjectStoreDoubleDriver({ store: store.name, bucket: 'missing' }),
    [Symbol.asyncDispose]: async () => store[Symbol.dispose](),
  }
})
