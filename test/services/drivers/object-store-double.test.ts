import { driverConformance } from '../../conformance/driver.ts'
import { ObjectStoreDoubleDriver } from '../../support/object-store-double/driver.ts'
import { ObjectStoreDouble } from '../../support/object-store-double/store.ts'

/** What object stores have in common fits the interface, before there is a driver of a real one. */
for (const parts of ['sequential', 'any'] as const)
  driverConformance(`the double of an object store, parts ${parts}`, async () => {
    const store = new ObjectStoreDouble('conformance')
    const open = (bucket: string) => new ObjectStoreDoubleDriver({ store: store.name, bucket, parts })
    return {
      openDriver: () => open('conformance'),
      losesAnswers: true,
      openMissing: () => open('missing'),
      [Symbol.asyncDispose]: async () => store[Symbol.dispose](),
    }
  })
