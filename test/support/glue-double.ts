import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { listenOnLoopback } from './loopback.ts'

type Json = Readonly<Record<string, unknown>>

/** Where lists are in answers. */
const lists = {
  GetDatabases: 'DatabaseList',
  GetTables: 'TableList',
  GetPartitions: 'Partitions',
  GetUserDefinedFunctions: 'UserDefinedFunctions',
} as const

/** Most that Glue takes in one call, by the field that has it. */
const batches: Readonly<Record<string, readonly [field: string, limit: number]>> = {
  BatchCreatePartition: ['PartitionInputList', 100],
  BatchUpdatePartition: ['Entries', 100],
  BatchDeletePartition: ['PartitionsToDelete', 25],
  BatchGetPartition: ['PartitionsToGet', 1_000],
  GetColumnStatisticsForTable: ['ColumnNames', 100],
  GetColumnStatisticsForPartition: ['ColumnNames', 100],
  UpdateColumnStatisticsForTable: ['ColumnStatisticsList', 25],
  UpdateColumnStatisticsForPartition: ['ColumnStatisticsList', 25],
}

class Refusal extends Error {
  readonly status: number

  constructor(name: string, message: string, status = 400) {
    super(message)
    this.name = name
    this.status = status
  }
}

/**
 * What of Glue moto does not have, in front of it: pages and segments, the limits of calls, partitions that are left out of an
 * answer, functions, column statistics, and failures on demand. All else is moto's.
 */
export class GlueDouble {
  /** Of a page. */
  pageSize = 3
  /** Partitions that one answer has when they are asked for by their values. */
  answeredAtOnce = 40
  /** Names of the calls that came. */
  readonly calls: string[] = []
  /** Of each call the access key and the region that it was signed with. */
  readonly signers: string[] = []
  readonly regions: string[] = []
  readonly #moto: string
  /** By database and name. */
  readonly #functions = new Map<string, Map<string, Json>>()
  /** By table or partition, and column. */
  readonly #statistics = new Map<string, Map<string, Json>>()
  #failures: { readonly call: string; readonly answer: (response: ServerResponse) => void }[] = []

  /** @param moto its endpoint */
  constructor(moto: string) {
    this.#moto = moto
  }

  async listen() {
    const server = await listenOnLoopback(
      createServer((request, response) => void this.#answer(request, response)),
    )
    return Object.assign(server, { endpoint: `http://127.0.0.1:${server.port}` })
  }

  /** The next such calls fail with this exception. */
  fail(call: string, name: string, { status = 400, times = 1 } = {}): void {
    const answer = (response: ServerResponse) => refuse(response, new Refusal(name, 'as it was told', status))
    this.#failures.push(...Array.from({ length: times }, () => ({ call, answer })))
  }

  /** The next such calls are answered by something else. */
  replace(call: string, answer: (response: ServerResponse) => void, times = 1): void {
    this.#failures.push(...Array.from({ length: times }, () => ({ call, answer })))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>))
    const call = String(request.headers['x-amz-target']).replace('AWSGlue.', '')
    this.calls.push(call)
    const [, key = '', region = ''] =
      /Credential=([^/]+)\/\d+\/([^/]+)\/glue\//.exec(request.headers.authorization ?? '') ?? []
    this.signers.push(key)
    this.regions.push(region)
    const at = this.#failures.findIndex((failure) => failure.call === call)
    if (at >= 0) return this.#failures.splice(at, 1)[0]!.answer(response)
    try {
      const asked = JSON.parse(body.toString()) as Json
      const answer = await this.#worked(call, asked, (other, another = call) =>
        this.#passed(request, another, other),
      )
      response.writeHead(200, headers()).end(JSON.stringify(answer))
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      refuse(response, error)
    }
  }

  async #worked(
    call: string,
    asked: Json,
    pass: (asked: Json, call?: string) => Promise<Json>,
  ): Promise<Json> {
    const [field, limit] = batches[call] ?? []
    if (field !== undefined && (asked[field] as unknown[]).length > limit!)
      throw new Refusal('ValidationException', `${field} has more than ${limit}`)
    if (call === 'BatchGetPartition') {
      const wanted = asked['PartitionsToGet'] as unknown[]
      const answer = await pass({ ...asked, PartitionsToGet: wanted.slice(0, this.answeredAtOnce) })
      return { ...answer, UnprocessedKeys: wanted.slice(this.answeredAtOnce) }
    }
    // Functions are in a database.
    if (call.includes('UserDefinedFunction')) await pass({ Name: asked['DatabaseName'] }, 'GetDatabase')
    if (call.includes('ColumnStatistics')) return this.#columnStatistics(call, asked, pass)
    if (call in lists) {
      const list = lists[call as keyof typeof lists]
      const { [list]: all } = await (call === 'GetUserDefinedFunctions' ? this.#listed(asked) : pass(asked))
      return this.#page(list, all as unknown[], asked)
    }
    return call.endsWith('UserDefinedFunction') ? this.#function(call, asked) : pass(asked)
  }

  async #columnStatistics(
    call: string,
    asked: Json,
    pass: (asked: Json, call?: string) => Promise<Json>,
  ): Promise<Json> {
    const { DatabaseName, TableName, PartitionValues } = asked
    // Statistics are of what is there.
    await (PartitionValues === undefined
      ? pass({ DatabaseName, Name: TableName }, 'GetTable')
      : pass({ DatabaseName, TableName, PartitionValues }, 'GetPartition'))
    const key = JSON.stringify([DatabaseName, TableName, PartitionValues])
    const its = this.#statistics.get(key) ?? new Map<string, Json>()
    this.#statistics.set(key, its)
    if (call.startsWith('Update')) {
      for (const one of asked['ColumnStatisticsList'] as Json[]) its.set(String(one['ColumnName']), one)
      return {}
    }
    const names = asked['ColumnNames'] as string[]
    const Error = { ErrorCode: 'EntityNotFoundException', ErrorMessage: 'Column statistics not found' }
    return {
      ColumnStatisticsList: names.flatMap((name) => its.get(name) ?? []),
      Errors: names.filter((name) => !its.has(name)).map((ColumnName) => ({ ColumnName, Error })),
    }
  }

  #page(list: string, all: readonly unknown[], asked: Json): Json {
    const { SegmentNumber: number = 0, TotalSegments: total = 1 } = (asked['Segment'] ?? {}) as Partial<
      Record<string, number>
    >
    const its = all.filter((_, index) => index % total === number)
    const from = Number(asked['NextToken'] ?? 0)
    const end = from + Math.min(this.pageSize, (asked['MaxResults'] as number | undefined) ?? Infinity)
    return { [list]: its.slice(from, end), ...(end < its.length && { NextToken: String(end) }) }
  }

  #listed({ DatabaseName: database }: Json): Json {
    return { UserDefinedFunctions: [...(this.#functions.get(String(database))?.values() ?? [])] }
  }

  #function(call: string, asked: Json): Json {
    const { DatabaseName, FunctionName, FunctionInput } = asked
    const input = FunctionInput as Json | undefined
    const its = this.#functions.get(String(DatabaseName)) ?? new Map<string, Json>()
    this.#functions.set(String(DatabaseName), its)
    const name = String(FunctionName ?? input?.['FunctionName'])
    const isCreated = call.startsWith('Create')
    if (its.has(name) === isCreated)
      throw new Refusal(isCreated ? 'AlreadyExistsException' : 'EntityNotFoundException', name)
    if (input === undefined) its.delete(name)
    else its.set(name, { ...input, DatabaseName, CreateTime: 1_760_000_000 })
    return {}
  }

  async #passed({ headers: sent }: IncomingMessage, call: string, asked: Json): Promise<Json> {
    const answer = await fetch(this.#moto, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-amz-json-1.1',
        'x-amz-target': `AWSGlue.${call}`,
        'x-amz-date': String(sent['x-amz-date']),
        authorization: String(sent.authorization),
      },
      body: JSON.stringify(asked),
    })
    const found = (await answer.json()) as Json
    if (answer.ok) return found
    throw new Refusal(String(found['__type']), String(found['message'] ?? found['Message']), answer.status)
  }
}

const headers = () => ({ 'content-type': 'application/x-amz-json-1.1', 'x-amzn-requestid': randomUUID() })

const refuse = (response: ServerResponse, { name, message, status }: Refusal) =>
  response.writeHead(status, headers()).end(JSON.stringify({ __type: name, message }))
