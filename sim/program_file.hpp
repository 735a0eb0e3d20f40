// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "sim/program.hpp"
#include "sim/program_places.hpp"

/// A schedule that the user wrote.
namespace paceline::sim {

struct ProgramFile {
  Program program;
  ProgramPlaces places;  ///< of its actions, for verify()
  int passed_over = 0;   ///< actions that say when to communicate: they follow from the order
};

/// The table of actions that PyTorch's torch.distributed.pipelining writes (_dump_csv) and reads
/// (_load_csv): a row per rank, a cell per action, empty cells where a rank idles.
///
///     0F0,0F1,,0B0,0B1
///     1F0,1B0,1F1,1B1
///
/// Or a column per rank, below a header "rank 0,rank 1", with a column "step" before it where one
/// is wanted. Cells: `2F0` forward, `2I0` gradient of the input (B here), `2W0` of the weights,
/// `2B0` both (BW), `(0F7;7B3)OVERLAP_F_B` fused. Where the same stage and microbatch has a W but
/// no I, `2B0` is the gradient of the input and `2BW0` both: older releases of PyTorch write so.
/// SEND_F, RECV_F, SEND_B, RECV_B, UNSHARD, RESHARD and REDUCE_GRAD are counted and passed over.
/// There are as many stages and microbatches as the largest number says. Throws base::Error with
/// file:line:column.
ProgramFile parse_action_table(std::string_view text, const std::string& file);

/// By the file's name: `.csv` is the table of actions, anything else the Program's text form.
ProgramFile parse_program_file(std::string_view text, const std::string& file);

}  // namespace paceline::sim
