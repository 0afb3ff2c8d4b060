//! Stored miss costs of this machine: a copy of the last result of `measure --prices`.

use switchcost_record::prices::{Prices, read_prices};
use switchcost_record::{HostManifest, Source};

use crate::home;

/// Name of the file with the stored miss costs, in the state folder.
pub(crate) const FILE: &str = "prices.json";

/// Returns the stored miss costs; an error with the reason if there are none for this machine.
pub(crate) fn machine_prices(host: &HostManifest) -> Result<Prices, String> {
    let path = home::state().map_err(|why| why.to_string())?.join(FILE);
    let prices = read_prices(Source::found(&path)).map_err(|error| error.to_string())?;
    if prices.cpu_model.as_ref() == host.cpu_model.known() && prices.caches == host.caches {
        Ok(prices)
    } else {
        Err(format!(
            "the prices in {} are of another processor",
            path.display()
        ))
    }
}
