import { expect, test } from 'vitest'
import { read, shapes, UnreadableAnswer } from '../../../../../services/metadata/catalogs/glue/answers.ts'

test('what is read of an answer is left, and nothing else', () => {
  const made = new Date(0)
  const answer = {
    $metadata: { requestId: '1' },
    Table: {
      Name: 'orders',
      Owner: null,
      CreateTime: made,
      Parameters: { a: 'b', none: null },
      StorageDescriptor: { Columns: [{ Name: 'id', Unknown: [{}] }], Compressed: false },
      IsRegisteredWithLakeFormation: false,
    },
  }
  expect(read(shapes.table, answer)).toEqual({
    Table: {
      Name: 'orders',
      CreateTime: made,
      Parameters: { a: 'b' },
      StorageDescriptor: { Columns: [{ Name: 'id' }], Compressed: false },
    },
  })
})

test.each([
  null,
  'text',
  [],
  { Table: 'orders' },
  { Table: [] },
  { Table: { Name: 5 } },
  { Table: { CreateTime: new Date(NaN) } },
  { Table: { Retention: NaN } },
  { Table: { Parameters: { a: 1 } } },
  { Table: { Parameters: ['a'] } },
  { Table: { PartitionKeys: { Name: 'a' } } },
  { Table: { PartitionKeys: [null] } },
  { Table: { StorageDescriptor: { BucketColumns: 'ab' } } },
])('%j is no answer with a table', (answer) => {
  expect(() => read(shapes.table, answer)).toThrow(UnreadableAnswer)
})
