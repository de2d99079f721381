import ky from 'ky';

/** Fetches and parses the details of these orders with nothing but ky; returns the seconds. */
export async function bareDetails(
  baseUrl: string,
  orderNos: string[],
  concurrency: number,
): Promise<number> {
  const startedAt = performance.now();
  let next = 0;
  const fetchOn = async () => {
    for (let orderNo = orderNos[next++]; orderNo !== undefined; orderNo = orderNos[next++]) {
      const url = `${baseUrl}/v1/transaction/info?orderNo=${orderNo}`;
      JSON.parse(await ky(url, { retry: 0 }).text());
    }
  };
  await Promise.all(Array.from({ length: concurrency }, fetchOn));
  return (performance.now() - startedAt) / 1_000;
}
