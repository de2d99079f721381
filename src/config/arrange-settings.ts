import { isHmac, type ReadWallet } from './check-wallets.ts';
import { settingEntries } from './read-setting-texts.ts';
import { readValues } from './read-values.ts';
import type { SettingGroups, Settings, SettingValues, WalletSettings } from './settings.ts';
import { settingsOfWallet } from './settings-of-wallet.ts';

type Beside = Pick<Settings, 'feed' | 'secretFiles' | 'secrets' | 'warnings'>;

/**
 * Groups the values by wallet, and repeats the groups of the first wallet at the top. A value that did not parse is
 * replaced by its default.
 */
export function arrangeSettings(
  shared: Partial<SettingValues>,
  read: readonly ReadWallet[],
  beside: Beside,
): Settings {
  const defaults = readValues({}).values;
  const arrange = (values: Partial<SettingValues>) =>
    arrangeGroups({ ...defaults, ...values } as SettingValues);
  const wallets = read.map(({ name, values }): WalletSettings => {
    const { service, partialService, lists, states, pools } = arrange(values);
    return { name, service, partialService, lists, states, pools };
  });
  const walletNames = wallets.map(({ name }) => name);
  const [wallet = ''] = walletNames;
  return settingsOfWallet({ ...arrange(shared), ...beside, wallet, walletNames, wallets }, wallet);
}

function arrangeGroups(
  values: SettingValues,
): Omit<Settings, 'wallet' | 'walletNames' | 'wallets' | keyof Beside> {
  const { service, pools, http, feed: _feed, wallets: _wallets, ...groups } = groupsOf(values);
  const { baseUrl, apiSecret, apiKey } = service;
  const isSigned = apiKey !== null || !isHmac(service.signer);
  return {
    ...groups,
    service: baseUrl && apiSecret && isSigned ? { ...service, baseUrl, apiSecret } : null,
    partialService: service,
    pools: { ...pools, chains: pools.chains ?? [], areSet: pools.chains !== null },
    http: http.port === null ? null : { ...http, port: http.port },
  };
}

/** Puts each value where the table's `field` says. */
function groupsOf(values: SettingValues): SettingGroups {
  const groups: Record<string, Record<string, unknown>> = {};
  for (const [name, { field }] of settingEntries) {
    const [group = '', key = ''] = field.split('.');
    groups[group] = { ...groups[group], [key]: values[name] };
  }
  return groups as SettingGroups;
}
