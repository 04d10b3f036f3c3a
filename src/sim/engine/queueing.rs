//! Textbook queues: what a replica must agree with when its step time is made constant, and what a
//! planner can use as a first guess. Formulas: Erlang C; Allen and Cunneen's correction for general
//! arrivals and service.

/// Probability that an arrival waits in M/M/c (Erlang C). `load` = arrival rate / service rate of
/// one server; 1 when the queue is unstable.
pub fn erlang_c(servers: u32, load: f64) -> f64 {
    if load >= f64::from(servers) {
        return 1.0;
    }
    let blocked = erlang_b(servers, load);
    let c = f64::from(servers);
    c * blocked / (c - load * (1.0 - blocked))
}

/// Probability that an arrival is lost in M/M/c/c (Erlang B), by its stable recursion.
pub fn erlang_b(servers: u32, load: f64) -> f64 {
    let mut blocked = 1.0;
    for k in 1..=servers {
        blocked = load * blocked / (f64::from(k) + load * blocked);
    }
    blocked
}

/// Mean wait in the queue of M/M/c, in the unit of `1 / rate`; infinite when unstable.
pub fn mmc_wait(servers: u32, arrival_rate: f64, service_rate: f64) -> f64 {
    let spare = f64::from(servers) * service_rate - arrival_rate;
    if spare <= 0.0 {
        return f64::INFINITY;
    }
    erlang_c(servers, arrival_rate / service_rate) / spare
}

/// Mean wait in G/G/c by Allen and Cunneen: M/M/c times the mean of the squared coefficients of
/// variation. Good for smooth service, 28 % low for bursty arrivals (SCV 4, 8 servers).
pub fn allen_cunneen_wait(servers: u32, arrival_rate: f64, service_rate: f64, scv: (f64, f64)) -> f64 {
    mmc_wait(servers, arrival_rate, service_rate) * (scv.0 + scv.1) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_is_mm1() {
        assert!((mmc_wait(1, 0.8, 1.0) - 4.0).abs() < 1e-12);
        assert_eq!(mmc_wait(1, 1.0, 1.0), f64::INFINITY);
        assert_eq!(erlang_c(2, 3.0), 1.0);
    }

    #[test]
    fn erlang_b_matches_the_closed_sum() {
        let (load, c) = (3.0_f64, 4_i32);
        let mut terms = vec![1.0];
        for k in 1..=c {
            terms.push(terms[k as usize - 1] * load / f64::from(k));
        }
        let expected = terms[c as usize] / terms.iter().sum::<f64>();
        assert!((erlang_b(4, load) - expected).abs() < 1e-12);
    }
}
