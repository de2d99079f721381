import { onDatabase } from '../../support/on-database.ts';
import type { BenchPart } from '../bench.ts';
import { bareDetails } from '../floors/bare-details.ts';
import { runProduct } from '../run-product.ts';
import { ordinalsOf, staticRow, staticTypes } from '../static-rows.ts';
import { startStaticService } from '../static-service.ts';

const concurrency = 8;

export const backfillDetails: BenchPart = {
  letters: 'b',
  title: 'details of every row',
  async run(bench) {
    const rows = bench.isQuick ? 3_000 : 20_000;
    const service = await startStaticService(rows);
    bench.onEnd(service.close);
    const orderNos = staticTypes.flatMap((type) =>
      ordinalsOf(type, rows).map((ordinal) => staticRow(ordinal).orderNo),
    );
    const samples: number[] = [];
    const cheaplySigned: number[] = [];
    const bare: number[] = [];
    const detailsRate = async (signer: Record<string, string>) => {
      const database = await bench.database();
      const env = { ...service.env, ...signer, DATABASE_URL: database };
      await runProduct(['backfill', '--no-details'], env);
      await runProduct(['sync', 'details'], env);
      const rate = rows / (await readSeconds(database, rows));
      await bench.dropDatabase(database);
      return rate;
    };
    for (let run = 1; run <= bench.runs; run += 1) {
      samples.push(await detailsRate({}));
      cheaplySigned.push(
        await detailsRate({ WALLET_SIGNER: 'params-hmac', WALLET_API_KEY: 'bench' }),
      );
      bare.push(rows / (await bareDetails(service.baseUrl, orderNos, concurrency)));
      bench.say(
        `  run ${run}: ${Math.round(samples.at(-1) ?? 0)} details/s, ${Math.round(cheaplySigned.at(-1) ?? 0)} under HMAC, bare ${Math.round(bare.at(-1) ?? 0)}`,
      );
    }
    await service.close();
    return [
      {
        part: 'b',
        what: `details of ${rows.toLocaleString('en')} rows, ${concurrency} in flight`,
        unit: 'details/s',
        samples,
        floor: { what: 'bare ky loop', samples: bare },
        target: { of: 'ratio', atLeast: 0.6 },
        note: 'time of the pass as the program writes it down in sync_runs; the start of its process is left out',
      },
      {
        part: 'b',
        what: 'the same, signed with a shared secret (params-hmac)',
        unit: 'details/s',
        samples: cheaplySigned,
        floor: { what: 'bare ky loop', samples: bare },
      },
    ];
  },
};

/** Throws when a detail is missing. */
function readSeconds(database: string, rows: number): Promise<number> {
  return onDatabase(database, async (client) => {
    const found = await client.query<{ seconds: number; details: number }>(`
      select (select extract(epoch from finished_at - started_at)::float8 from ledger.sync_runs
               where job = 'details') as seconds,
             (select count(detail_synced_at)::int from ledger.transactions) as details`);
    const { seconds = Number.NaN, details = 0 } = found.rows[0] ?? {};
    if (details !== rows) throw new Error(`details of ${details} rows of ${rows} were stored`);
    return seconds;
  });
}
