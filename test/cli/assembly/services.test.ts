import { expect, test } from 'vitest'
import { taskList } from '../../../broker/tasks/task-list.ts'
import { platformParts } from '../../../cli/assembly/services.ts'
import { agentResources, internalResources, resources } from '../../../subjects/index.ts'

const { parts } = platformParts

test('every resource is answered by one part', () => {
  const served = parts.flatMap(({ contracts }) => Object.entries(contracts))
  const all = Object.entries({ ...resources, ...internalResources, ...agentResources })
  expect(served.map(([name]) => name).toSorted()).toEqual(all.map(([name]) => name).toSorted())
  expect(new Map(served)).toEqual(new Map(all))
})

test('every background task belongs to one part, unless the platform runs it before them or beside them', () => {
  const beside = /^(platform|queues|edge)\./
  const names = parts.flatMap(({ tasks }) => tasks)
  expect(names.toSorted()).toEqual(
    Object.keys(taskList)
      .filter((name) => !beside.test(name))
      .toSorted(),
  )
})
